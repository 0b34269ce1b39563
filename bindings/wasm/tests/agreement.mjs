// The program of bindings/agreement: node agreement.mjs SCENARIOS

import { readFileSync } from "node:fs";

import { load } from "../dist/node.js";

const PARTS = [
  ..."qkv prefill_attention decode_attention o_proj gate_up down router moe exchange all_reduce transfer".split(" "),
  ..."small_kernels lm_head sampling host".split(" "),
];
const BINDINGS = "compute memory latency link".split(" ");
const CLASSES = "measured interpolated smoothed transferred bound fitted".split(" ");

/** Splitmix64. */
class Random {
  constructor(seed) {
    this.state = BigInt(seed);
  }

  draw(modulus) {
    this.state = BigInt.asUintN(64, this.state + 0x9e3779b97f4a7c15n);
    let bits = this.state;
    bits = BigInt.asUintN(64, (bits ^ (bits >> 30n)) * 0xbf58476d1ce4e5b9n);
    bits = BigInt.asUintN(64, (bits ^ (bits >> 27n)) * 0x94d049bb133111ebn);
    return Number((bits ^ (bits >> 31n)) % BigInt(modulus));
  }
}

function batchOf(index) {
  const random = new Random(index);
  const [prefill, decode] = [[], []];
  for (let count = random.draw(4); count > 0; count--) {
    const newTokens = 1 + random.draw(2_048);
    const kvLen = newTokens + random.draw(8_192);
    prefill.push({ newTokens, kvLen, isLast: random.draw(2) === 1 });
  }
  for (let count = random.draw(4); count > 0; count--) {
    const [requests, drafted] = [1 + random.draw(64), random.draw(3)];
    decode.push({ requests, kvTokens: requests * (1 + random.draw(8_192) + drafted), drafted });
  }
  return { prefill, decode };
}

function bits(number) {
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, number);
  return view.getBigUint64(0).toString(16).padStart(16, "0");
}

function step(scenario, index) {
  const batch = batchOf(index);
  const time = scenario.step(batch);
  if (scenario.stepNanoseconds(batch) !== time.nanoseconds)
    throw new Error(`step ${index}: expected one time, found two`);
  const lines = [`step ${index} ${bits(time.seconds)} ${time.nanoseconds}`];
  for (const part of index % 10 === 0 ? time.parts : []) {
    const places = [BINDINGS.indexOf(part.binding), CLASSES.indexOf(part.class), Number(part.isOutside)];
    lines.push(`part ${PARTS.indexOf(part.part)} ${bits(part.seconds)} ${places.join(" ")}`);
  }
  return lines;
}

function drive(server) {
  for (let index = 0; index < 100; index++) {
    const random = new Random(index);
    const arrivalNs = random.draw(2_000_000_000);
    server.push({ promptTokens: 1 + random.draw(1_000), outputTokens: 1 + random.draw(100), arrivalNs });
  }
  const lines = [];
  for (let next = server.state().nextEventNs; next !== undefined;) {
    next = server.advance(next).nextEventNs;
    for (const { request, kind, outcome, atNs } of server.events()) {
      lines.push(`event ${request} ${kind} ${outcome ?? "none"} ${atNs}`);
      if (outcome === undefined && request % 5 === 0) lines.push(`cancel ${Number(cancels(server, request))}`);
    }
  }
  const { steps, busyNs, outputTokens } = server.totals();
  lines.push(`totals ${steps} ${busyNs} ${outputTokens}`);
  server.free();
  return lines;
}

function cancels(server, request) {
  try {
    server.cancel(request);
    return true;
  } catch {
    return false;
  }
}

const rooflut = await load();
const texts = readFileSync(process.argv[2], "utf8").split("---\n");
const scenarios = [];
for (const text of texts) scenarios.push(await rooflut.scenario(text));
const lines = [];
for (let index = 0; index < 10_000; index++) lines.push(...step(scenarios[index % scenarios.length], index));
for (const scenario of scenarios) lines.push(...drive(scenario.server()));
let text = `${lines.join("\n")}\n`;
for (const [index, scenario] of scenarios.entries()) {
  for (let seed = 0; seed < 20; seed++) {
    const seeded = scenario.withSeed(seed);
    text += `run ${index} ${seed}\n${seeded.run()}`;
    seeded.free();
  }
}
process.stdout.write(text);
