// The package as a user has it: node --test, after the build.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import test from "node:test";

import { Rooflut, RooflutError, compile, load } from "../dist/node.js";
import { HEADER, MEMORY, Reader, section, sections, unsigned } from "../module.mjs";

const RUN = 'model = "llama-3.1-8b"\n[workload]\nrate = 4\nrequests = 50\n';

/** Returns the library, and the names of the sets that it fetched. */
async function loaded() {
  const fetched = [];
  const tables = (name) => {
    fetched.push(name);
    return readFile(new URL(`../dist/tables/${name}.bin`, import.meta.url));
  };
  return { rooflut: await load({ tables }), fetched };
}

test("a run fetches the tables of its GPU and no others", async () => {
  const { rooflut, fetched } = await loaded();
  const report = JSON.parse(await rooflut.run(RUN));
  assert.equal(report.model, "llama-3.1-8b");
  assert.deepEqual(fetched, ["h100"]);
  await rooflut.run(RUN);
  await rooflut.run(`gpu = "h200"\n${RUN}`);
  assert.deepEqual(fetched, ["h100", "h200"]);
});

test("an answer does not depend on the tables that are here", async () => {
  const [one, other] = [await loaded(), await loaded()];
  await other.rooflut.loadTables(...other.rooflut.tables());
  // Other sets answer for what this one lacks, and are named in messages.
  const scenarios = [
    RUN,
    `gpu = "b300"\n${RUN}`,
    `gpu = "l40s-p2p"\ntp = 2\n${RUN}`,
    'gpu = "a100"\nmodel = "deepseek-v3"\ntp = 8',
  ];
  for (const toml of scenarios) {
    const outcome = ({ rooflut }) => rooflut.run(toml).catch((error) => error.message);
    assert.equal(await outcome(one), await outcome(other));
  }
});

test("a GPU that was not measured takes the tables of its base", async () => {
  const { rooflut, fetched } = await loaded();
  rooflut.keepFile("my/l4.toml", await readFile(new URL("../../../examples/gpus/l4.toml", import.meta.url)));
  const report = JSON.parse(await rooflut.run(`gpu = "my/l4.toml"\n${RUN}`));
  assert.deepEqual(fetched, ["l40s"]);
  assert.ok(report.notes.some((note) => note.includes("it has on l40s")));
});

test("errors are those of the library", async () => {
  const { rooflut } = await loaded();
  await assert.rejects(rooflut.run('model = "llama-9"'), (error) => {
    assert.ok(error instanceof RooflutError);
    assert.equal(error.kind, "refused");
    assert.match(error.message, /^model: expected a built-in model, found "llama-9"/);
    return true;
  });
  await assert.rejects(rooflut.run('[workload]\ntrace = "none.csv"'), /none\.csv: .*not found/);
  await assert.rejects(rooflut.lookup("h100", { gemm: { dtype: "bf16" } }), RooflutError);
  await assert.rejects(rooflut.loadTables("h1000"), /expected a table set/);
});

test("a scenario steps, drives a server and derives others", async () => {
  const { rooflut } = await loaded();
  const scenario = await rooflut.scenario(RUN);
  const batch = { prefill: [{ newTokens: 512, kvLen: 512 }], decode: [{ requests: 8, kvTokens: 8_000 }] };
  const step = scenario.step(batch);
  assert.equal(step.nanoseconds, scenario.stepNanoseconds(batch));
  const sum = step.parts.reduce((seconds, part) => seconds + part.seconds, 0);
  assert.ok(Math.abs(sum - step.seconds) < 1e-12);
  const [low, high] = scenario.stepInterval(batch, 0.8);
  assert.ok(low < step.seconds && step.seconds < high);
  const { kernels, peaks } = JSON.parse(scenario.stepKernels(batch));
  const ms = kernels.reduce((sum, kernel) => sum + kernel.ms, 0);
  assert.ok(Math.abs(ms - 1e3 * step.seconds) < 1e-9, `${ms} ms of kernels in a step of ${step.seconds} s`);
  assert.ok(kernels.some(({ flops }) => flops > 0) && peaks.flops_per_s.bf16 > 1e14);
  assert.equal(scenario.run(), await rooflut.run(RUN));
  assert.notEqual(scenario.withSeed(7).run(), scenario.run());
  const server = scenario.server();
  assert.equal(server.push({ promptTokens: 100, outputTokens: 2 }), 0);
  for (let next = server.state().nextEventNs; next !== undefined;) next = server.advance(next).nextEventNs;
  assert.deepEqual(
    server.events().map(({ kind, outcome }) => [kind, outcome]),
    [
      ["first_token", undefined],
      ["finished", "completed"],
    ],
  );
  assert.equal(server.totals().outputTokens, 2);
  const later = server.push({ promptTokens: 100, outputTokens: 2, arrivalNs: 1e15 });
  server.cancel(later);
  assert.deepEqual(
    server.events().map(({ request, kind, outcome }) => [request, kind, outcome]),
    [[later, "finished", "cancelled"]],
  );
  assert.throws(() => server.cancel(later), { kind: "value", message: /request 1: expected one that was pushed/ });
  scenario.free();
  assert.throws(() => scenario.run(), /freed/);
});

/** Drives a server until it is idle, and returns the times of its events. */
function driven(server) {
  for (let next = server.state().nextEventNs; next !== undefined;) next = server.advance(next).nextEventNs;
  return server.events().map(({ request, kind, atNs }) => [request, kind, atNs]);
}

test("a router of one's own over prefill and decode servers gives the times of the fleet", async () => {
  const { rooflut } = await loaded();
  const [gigabytesPerS, latencyNs, kvBytes] = [10, 50_000, 131_072];
  const request = { promptTokens: 800, outputTokens: 20 };
  const load = "[workload]\nrequests = 1\nrate = 1\nprompt = 800\noutput = 20\n";
  const link = `link_bandwidth = ${gigabytesPerS}\nlink_latency = ${latencyNs / 1_000}\n`;
  const fleet = `[server]\nprefill_replicas = 1\ndecode_replicas = 1\n${link}`;
  const e2eNs = async (toml) => Math.round(1e6 * JSON.parse(await rooflut.run(toml)).e2e_ms.mean);
  const scenario = await rooflut.scenario(load);
  const whole = scenario.server();
  whole.push(request);
  // Latencies of a report end at the client.
  const clientNs = (await e2eNs(load)) - driven(whole).at(-1)[2];
  const prefill = scenario.server("prefill");
  prefill.push({ ...request, outputTokens: 1 });
  const readyNs = driven(prefill).at(-1)[2];
  const arrivalNs = readyNs + Math.round((request.promptTokens * kvBytes) / gigabytesPerS) + latencyNs;
  const decode = scenario.server("decode");
  decode.push({ ...request, arrivalNs });
  const copy = decode.copy();
  const events = driven(decode);
  assert.equal(events.at(-1)[2] + clientNs, await e2eNs(load + fleet));
  // A copy goes on by itself.
  assert.equal(copy.state().nowNs, 0);
  assert.deepEqual(driven(copy), events);
});

test("a plan has no fewer GPUs than its bounds", async () => {
  const { rooflut } = await loaded();
  const load = 'model = "llama-3.1-8b"\n[workload]\nrate = 40\n';
  const wanted = { goodput: ["ttft:500", "tpot:20"], gpu: ["h100"], max_gpus: 8 };
  const least = JSON.parse(await rooflut.planLeast(load, wanted));
  const plan = JSON.parse(await rooflut.plan(load, wanted));
  assert.equal(least.least_gpus, plan.least_gpus);
  const kind = least.kinds.find(({ tp }) => tp === plan.deployments[0].tp);
  assert.ok(kind.least_gpus <= plan.gpus);
});

test("searches, descriptions and lists answer", async () => {
  const { rooflut } = await loaded();
  assert.match(rooflut.version, /^\d+\.\d+\.\d+$/);
  assert.ok(rooflut.models().includes("llama-3.1-8b"));
  assert.ok(rooflut.engines().some((name) => name.startsWith("vllm")));
  assert.ok(JSON.parse(await rooflut.fits('model = "llama-3.1-70b"')).deployments.length > 0);
  const saturation = JSON.parse(await rooflut.saturate(RUN.replace("rate = 4\n", ""), { tolerance: 0.1 }));
  assert.ok(saturation.model === "llama-3.1-8b");
  const reports = [await rooflut.run(RUN), await rooflut.run(RUN.replace("4", "8"))];
  assert.ok(JSON.parse(rooflut.compare(...reports)));
  assert.equal(JSON.parse(await rooflut.describeTables("a100")).name, "a100");
  const gemm = await rooflut.lookup("h100", { gemm: { dtype: "bf16", k: 4096, n: 6144 } });
  assert.ok(gemm.at(100).seconds > 1e-6);
});

test("a model is read from its config.json", async () => {
  const { rooflut } = await loaded();
  const config = {
    architectures: ["LlamaForCausalLM"],
    model_type: "llama",
    hidden_size: 2048,
    intermediate_size: 8192,
    num_hidden_layers: 16,
    num_attention_heads: 32,
    num_key_value_heads: 8,
    head_dim: 64,
    max_position_embeddings: 131_072,
    vocab_size: 128256,
    torch_dtype: "bfloat16",
    tie_word_embeddings: true,
  };
  const model = rooflut.readModel({ name: "mine", config: JSON.stringify(config) });
  assert.equal(JSON.parse(model.describe()).name, "mine");
  assert.equal(JSON.parse(await rooflut.run(RUN, { model })).model, "mine");
});

test("a command of vLLM is read as keys of a scenario", async () => {
  const { rooflut } = await loaded();
  const words = ["meta-llama/Llama-3.1-8B-Instruct", "-tp", "2", "--max-num-seqs=64", "--port", "8000"];
  const { target, server, workload } = rooflut.readVllm(words);
  const given = (keys) => Object.fromEntries(Object.entries(keys).filter(([, value]) => value !== null));
  assert.deepEqual([given(target), given(server)], [{ model: "meta-llama/Llama-3.1-8B-Instruct", tp: 2 }, { max_num_seqs: 64 }]);
  assert.deepEqual(given(workload), {});
  assert.throws(() => rooflut.readVllm(["x", "--enable-lora"]), /^RooflutError: --enable-lora: LoRA adapters are not modelled/);
});

test("rows of another build are refused", async () => {
  const tables = async (name) => {
    const bytes = await readFile(new URL(`../dist/tables/${name}.bin`, import.meta.url));
    bytes[4] ^= 1;
    return bytes;
  };
  const rooflut = await load({ tables });
  await assert.rejects(rooflut.run(RUN), /one of another build/);
});

test("a failed fetch is tried again", async () => {
  let fails = true;
  const tables = async (name) => {
    if (fails) throw new Error("no network");
    return readFile(new URL(`../dist/tables/${name}.bin`, import.meta.url));
  };
  const rooflut = await load({ tables });
  await assert.rejects(rooflut.run(RUN), /no network/);
  fails = false;
  assert.ok(await rooflut.run(RUN));
});

const file = (name) => readFile(new URL(`../dist/${name}`, import.meta.url));

/** Returns the library without what few calls need, which `rest` returns. */
async function divided(rest) {
  const [module, whole] = await Promise.all([compile(file("rooflut.wasm")), compile(file("rooflut.rest.wasm"))]);
  return new Rooflut(module, (name) => file(`tables/${name}.bin`), () => rest(whole));
}

test("first answers do not need the rest, errors do, and are the same", async () => {
  let asked = 0;
  const rooflut = await divided((whole) => {
    asked += 1;
    return whole;
  });
  const all = await load();
  for (const toml of [RUN, `gpu = "b300"\ndtype = "fp8"\ntp = 2\n${RUN.replace("llama-3.1-8b", "qwen3-32b")}`]) {
    assert.equal(await rooflut.run(toml), await all.run(toml));
    assert.equal(await rooflut.fits(toml.replace("tp = 2", "")), await all.fits(toml.replace("tp = 2", "")));
  }
  await rooflut.plan(RUN.replace("requests = 50\n", ""), { goodput: ["ttft:500"], gpu: ["h100"], max_gpus: 4 });
  assert.equal(asked, 0);
  const wrong = `modle = 1\n${RUN}`;
  const message = (library) => library.run(wrong).catch((error) => error.message);
  assert.equal(await message(rooflut), await message(all));
  await rooflut.saturate(RUN.replace("rate = 4\n", ""), { tolerance: 0.1 });
  assert.equal(asked, 1);
});

test("a rest that cannot be had is an error, and the next call asks for it again", async () => {
  let fails = true;
  const rooflut = await divided((whole) => {
    if (fails) throw new Error("no network");
    return whole;
  });
  const scenario = await rooflut.scenario(RUN);
  await assert.rejects(rooflut.run('model = "llama-9"'), /^Error: no network/);
  assert.throws(() => scenario.run(), { kind: "handle" });
  assert.equal(JSON.parse(await rooflut.run(RUN)).model, "llama-3.1-8b");
  fails = false;
  await assert.rejects(rooflut.run('model = "llama-9"'), /expected a built-in model/);
});

test("a rest of another build is refused", async () => {
  const bytes = await file("rooflut.rest.wasm");
  // The checksum is the end of the last section.
  bytes[bytes.length - 1] ^= 1;
  const other = await compile(bytes);
  const rooflut = await divided(() => other);
  await assert.rejects(rooflut.run('model = "llama-9"'), /of one build, found those of two/);
});

/** Returns the module with at most `more` pages of memory beside those that it begins with. */
async function limited(more) {
  const module = await file("rooflut.wasm");
  const parts = sections(module).flatMap(({ id, bytes }) => {
    const pages = new Reader(bytes.subarray(2)).unsigned();
    const limits = Buffer.concat([Buffer.from([1, 1]), unsigned(pages), unsigned(pages + more)]);
    return section(id, id === MEMORY ? limits : bytes);
  });
  return Buffer.concat([module.subarray(0, HEADER), ...parts]);
}

test("too little memory ends the instance, and a new one takes its place", async () => {
  const rooflut = await load({ wasm: await limited(32) });
  const scenario = await rooflut.scenario(RUN);
  const report = scenario.run();
  const many = RUN.replace("requests = 50", "requests = 200_000");
  await assert.rejects(rooflut.run(many), { kind: "panic", message: /^a defect of rooflut, or too little memory: / });
  assert.throws(() => scenario.run(), { kind: "handle", message: /make a new one/ });
  assert.equal(await rooflut.run(RUN), report);
});

test("too little memory for arguments ends the instance, and a new one takes its place", async () => {
  const rooflut = await load({ wasm: await limited(32) });
  const calls = [
    [(scenario) => scenario.step({ decode: new Array(2 ** 31) }), 24 * 2 ** 31],
    [() => rooflut.keepFile("trace.csv", new Uint8Array(2 ** 27)), 2 ** 27],
  ];
  for (const [call, bytes] of calls) {
    const scenario = await rooflut.scenario(RUN);
    const message = new RegExp(`expected memory for ${bytes} bytes, found none`);
    assert.throws(() => call(scenario), { kind: "panic", message });
    assert.throws(() => scenario.run(), { kind: "handle", message: /make a new one/ });
  }
  // The file would not fit into any instance.
  assert.ok(await rooflut.run(RUN));
});

test("the example of the README runs", async () => {
  const readme = await readFile(new URL("../README.md", import.meta.url), "utf8");
  const [, example] = readme.match(/```js\n([\s\S]*?)```/);
  const source = example.replace(
    'from "rooflut"',
    `from ${JSON.stringify(new URL("../dist/node.js", import.meta.url))}`,
  );
  await import(`data:text/javascript,${encodeURIComponent(source)}`);
});
