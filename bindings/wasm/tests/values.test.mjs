// Values that the interface of the module has no place for are errors, after which all objects still answer.

import assert from "node:assert/strict";
import test from "node:test";

import { RooflutError, load } from "../dist/node.js";

const rooflut = await load();
const scenario = await rooflut.scenario('model = "llama-3.1-8b"\n[workload]\nrate = 4\nrequests = 50\n');
const lookup = await rooflut.lookup("h100", { gemm: { dtype: "bf16", k: 4096, n: 6144 } });
const server = scenario.server();

const CHUNK = { newTokens: 512, kvLen: 512 };
const GROUP = { requests: 8, kvTokens: 8_000 };
const REQUEST = { promptTokens: 100, outputTokens: 2 };
const prefill = (changed) => () => scenario.step({ prefill: [CHUNK, { ...CHUNK, ...changed }] });
const decode = (changed) => () => scenario.stepNanoseconds({ decode: [{ ...GROUP, ...changed }] });
const push = (changed) => () => server.push({ ...REQUEST, ...changed });

const BITS_32 = "a whole number from 0 to 2^32 - 1";
const BITS_64 = "a whole number from 0 to 2^64 - 1";

/** Each call, and its error. */
const REFUSED = [
  [() => scenario.step({ decode: [{ requests: 8 }] }), `decode[0].kvTokens: expected ${BITS_64}, found undefined`],
  [prefill({ newTokens: -1 }), `prefill[1].newTokens: expected ${BITS_32}, found -1`],
  [prefill({ kvLen: 1.7 }), `prefill[1].kvLen: expected ${BITS_32}, found 1.7`],
  [decode({ kvTokens: 800.5 }), `decode[0].kvTokens: expected ${BITS_64}, found 800.5`],
  [decode({ kvTokens: 2n ** 64n }), `decode[0].kvTokens: expected ${BITS_64}, found 18446744073709551616n`],
  [decode({ outsideTokens: -1n }), `decode[0].outsideTokens: expected ${BITS_64}, found -1n`],
  [decode({ requests: 2 ** 32 }), `decode[0].requests: expected ${BITS_32}, found 4294967296`],
  [decode({ drafted: NaN }), `decode[0].drafted: expected ${BITS_32}, found NaN`],
  [
    () => scenario.stepInterval({ decode: [{ ...GROUP, drafted: Infinity }] }, 0.8),
    `decode[0].drafted: expected ${BITS_32}, found Infinity`,
  ],
  [() => scenario.stepInterval({ decode: [GROUP] }), "coverage: expected a number, found undefined"],
  [() => scenario.server("both"), 'role: expected one of whole, prefill, decode, found "both"'],
  [() => scenario.step({ decode: GROUP }), "decode: expected an array, found [object Object]"],
  [() => scenario.step({ prefill: null }), "prefill: expected an array, found null"],
  [
    () => rooflut.keepFile("trace.csv", new ArrayBuffer(8)),
    "contents: expected a text or a Uint8Array, found [object ArrayBuffer]",
  ],
  [() => scenario.withSeed(-1), `seed: expected ${BITS_64}, found -1`],
  [() => scenario.withRate(4n), "rate: expected a number, found 4n"],
  [push({ arrivalNs: 1.5 }), `arrivalNs: expected ${BITS_64}, found 1.5`],
  [push({ promptTokens: "100" }), `promptTokens: expected ${BITS_32}, found "100"`],
  [push({ outputTokens: undefined }), `outputTokens: expected ${BITS_32}, found undefined`],
  [push({ cachedPromptTokens: -0.5 }), `cachedPromptTokens: expected ${BITS_32}, found -0.5`],
  [push({ priority: -1 }), `priority: expected ${BITS_32}, found -1`],
  [() => server.advance(0.5), `toNs: expected ${BITS_64}, found 0.5`],
  [() => lookup.at(1.5), `size: expected ${BITS_64}, found 1.5`],
  [() => lookup.at(100, -1), `batch: expected ${BITS_32}, found -1`],
];

for (const [call, message] of REFUSED) {
  test(message, () => {
    assert.throws(call, (error) => {
      assert.ok(error instanceof RooflutError, String(error));
      assert.deepEqual([error.kind, error.message], ["value", message]);
      return true;
    });
    // Objects of an instance that was replaced would be errors.
    assert.ok(scenario.stepNanoseconds({ prefill: [CHUNK], decode: [GROUP] }) > 0);
    assert.ok(lookup.at(100).seconds > 0);
    assert.equal(server.state().arriving, 0);
  });
}

test("numbers at the ends of the ranges pass", () => {
  const time = scenario.stepNanoseconds({ decode: [GROUP] });
  assert.equal(scenario.stepNanoseconds({ decode: [{ ...GROUP, kvTokens: 8_000n, drafted: -0 }] }), time);
  assert.ok(scenario.withSeed(2n ** 64n - 1n).run().includes("18446744073709551615"));
  const other = scenario.server();
  // The largest priority goes last.
  for (const priority of [2 ** 32 - 1, 0]) other.push({ ...REQUEST, priority });
  assert.equal(other.state().arriving, 2);
});

test("an exception of the caller passes", () => {
  const chunk = {
    kvLen: 512,
    get newTokens() {
      throw new RangeError("mine");
    },
  };
  assert.throws(() => scenario.step({ prefill: [chunk] }), { name: "RangeError", message: "mine" });
  assert.ok(scenario.stepNanoseconds({ decode: [GROUP] }) > 0);
});
