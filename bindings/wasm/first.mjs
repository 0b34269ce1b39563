// The calls of a page's first answers. Functions that they do not run are left to dist/rooflut.rest.wasm.

const LIMITS = ["ttft:500", "tpot:50"];
const LOAD = "rate = 10\nprompt = 512\noutput = 64\nrequests = 64\n";
const DETAILS = 'interval = 0.8\nwindows = "auto"\nquantiles = true\n';

/** Deployments with their loads, and lines of their output. */
const RUNS = [
  ['model = "llama-3.1-8b"\ngpu = "h100"\n', LOAD],
  ['model = "llama-3.1-8b"\ngpu = "h100"\n', LOAD.replace("rate = 10", "rate = 1000"), 'price = ["h100=2"]\n'],
  ['model = "qwen3-30b-a3b"\ntp = 2\nexpert_parallel = true\n', LOAD.replace("512", '"uniform:100..900"')],
  [
    'model = "deepseek-v3"\ngpu = "h200"\ntp = 8\n',
    LOAD.replace("rate = 10", "users = 32").replace("output = 64", 'output = "lognormal:50,0.6"'),
  ],
  ['model = "deepseek-v3"\ngpu = "h200"\ndp = 8\nexpert_parallel = true\n', LOAD],
  [
    'model = "llama-3.1-70b"\ngpu = "b200"\ntp = 4\ndtype = "fp8"\nkv_dtype = "fp8"\n',
    `${LOAD}prefix_hit_rate = 0.3\n[server]\nreplicas = 2\n`,
  ],
  ['model = "llama-3.1-70b"\ngpu = "a100"\ntp = 2\npp = 2\n', LOAD],
  // More than the KV blocks hold.
  ['model = "llama-3.1-8b"\n', "users = 512\nprompt = 1000\noutput = 300\nrequests = 1024\n"],
  ['model = "gpt-oss-120b"\n', LOAD.replace("rate = 10", "users = 256").replace("requests = 64", "requests = 512")],
];

/** Makes the calls. */
export async function first(rooflut) {
  void rooflut.version;
  rooflut.engines();
  for (const [target, workload, output = ""] of RUNS) {
    const toml = `${target}[workload]\n${workload}[output]\ngoodput = ${JSON.stringify(LIMITS)}\n${output}`;
    await rooflut.run(toml);
    await rooflut.fits(`${target.replace(/^tp.*$/m, "")}[workload]\n${workload}`, { batch: 1, context: 768 });
    const scenario = await rooflut.scenario(toml);
    const batch = { decode: [{ requests: 12, kvTokens: 12_000 }] };
    scenario.step(batch);
    scenario.stepKernels(batch);
    await rooflut.run(toml, { output: "requests.csv" });
    // Pipelines have no intervals.
    if (!target.includes("pp = ")) {
      scenario.stepInterval(batch, 0.8);
      await rooflut.run(toml + DETAILS);
    }
    scenario.free();
  }
  const limits = { goodput: LIMITS, max_gpus: 8, gpu: ["h100"], tp: [1, 2, 4, 8] };
  const plan = async (model) => {
    const planned = `model = "${model}"\n[workload]\n${LOAD.replace(/requests.*/, "")}`;
    await rooflut.planLeast(planned, limits);
    await rooflut.plan(planned, limits);
  };
  for (const model of ["llama-3.1-8b", "llama-3.1-70b", "qwen3-30b-a3b"]) await plan(model);
  // Some do not fit, and some refuse 8 GPUs: the reasons are first answers, too.
  await plan("deepseek-v3").catch(() => {});
  // A front tries every way to divide a server over 8 GPUs, of which a model refuses some.
  const DEGREES = [1, 2, 4, 8];
  const splits = DEGREES.flatMap((tp) => DEGREES.flatMap((pp) => DEGREES.map((dp) => [tp, pp, dp])));
  for (const [tp, pp, dp] of splits.filter(([tp, pp, dp]) => tp * pp * dp <= 8)) {
    const target = `model = "llama-3.1-8b"\ntp = ${tp}\npp = ${pp}\ndp = ${dp}\n`;
    for (const users of [16, 128]) {
      const load = LOAD.replace("rate = 10", `users = ${users}`).replace("requests = 64", "requests = 512");
      await rooflut.run(`${target}[workload]\n${load}`).catch(() => {});
    }
  }
  const targets = rooflut.models().map((model) => `model = "${model}"\ngpu = "b300"\ntp = 8\n`);
  for (const target of [...targets, 'model = "llama-3.1-405b"\n']) {
    await rooflut.run(`${target}[workload]\n${LOAD}`).catch(() => {});
  }
}
