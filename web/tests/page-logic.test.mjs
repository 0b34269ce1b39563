// What the page does without a browser: settings, scenarios, addresses, workers' lanes.
import assert from 'node:assert/strict';
import test from 'node:test';
import { imported } from './harness.mjs';

const page = await imported('tests/page-logic.ts');
const catalogue = { models: ['llama-3.1-8b', 'qwen3-14b'], gpus: ['b200', 'h100', 'h200'], engines: ['vllm-0.25.0'] };
const fields = page.fields(catalogue);
const field = (key) => fields.find((field) => field.key === key);

test('a scenario survives splitting and joining', () => {
  const text = `model = "a#b" # the model
tp = 2
[workload]
priorities = [0.2,
  0.8] # shares
prompt = 'uniform:1..9'
[[fleet]]
gpu = "h200"
`;
  const scenario = page.splitScenario(text);
  assert.deepEqual(
    [...scenario.tables.get('')],
    [
      ['model', '"a#b"'],
      ['tp', '2'],
    ],
  );
  assert.equal(scenario.tables.get('workload').get('priorities'), '[0.2, 0.8]');
  assert.deepEqual(
    scenario.blocks.map((block) => block.trim()),
    ['[[fleet]]\ngpu = "h200"'],
  );
  assert.deepEqual(page.splitScenario(page.joinScenario(scenario)).tables, scenario.tables);
  assert.throws(() => page.splitScenario('tp = 2\nnonsense'), /line 2: expected key = value/);
});

test('numbers are read as the command reads them, and others are refused with a reason', () => {
  for (const [text, value] of [
    ['1_000', 1000],
    ['1e3', 1000],
    [' 64 ', 64],
    [12, 12],
  ]) {
    assert.deepEqual(page.check(field('users'), text), { value });
  }
  for (const text of ['1k', '1,000', '-1', 'Infinity', '0x10', '', '3.5', '1e9'].filter(Boolean)) {
    assert.match(page.check(field('users'), text).wrong, /^Users: expected a whole number/, text);
  }
  assert.deepEqual(page.check(field('users'), '32'), { value: undefined }, 'the initial value is none of its own');
  assert.match(page.check(field('gpu'), 'abacus').wrong, /^GPU: expected one of b200, h100, h200, found "abacus"/);
  assert.match(page.check(field('gpus'), ['h100', 7]).wrong, /found 7/);
  assert.match(page.check(field('expert_parallel'), 'yes').wrong, /on or off/);
});

test('settings become a scenario with their keys', () => {
  const asked = page.questions(
    { gpu: 'h200', tp: '2', rate: 4, prompt: 'uniform:100..900', replicas: 3, ttft: 250 },
    catalogue,
  );
  assert.equal(
    asked.run,
    `model = "llama-3.1-8b"
gpu = "h200"
tp = 2

[workload]
rate = 4
prompt = "uniform:100..900"
output = 256
requests = 1000

[server]
replicas = 3

[output]
goodput = ["ttft:250", "tpot:50"]
`,
  );
  assert.deepEqual(asked.plan.wanted, {
    goodput: ['ttft:250', 'tpot:50'],
    max_gpus: 8,
    gpu: ['h200'],
    tp: [1, 2, 4, 8],
  });
  assert.doesNotMatch(asked.plan.scenario, /replicas|requests|^tp/m);
  const splits = asked.front.map(({ tp, pp, dp }) => [tp, pp, dp]);
  const all = [1, 2, 3, 4, 5, 6, 7, 8];
  const expected = all.flatMap((tp) => all.flatMap((pp) => all.map((dp) => [tp, pp, dp])));
  assert.deepEqual(splits.toSorted(), expected.filter(([tp, pp, dp]) => tp * pp * dp <= 8).toSorted());
  const two = asked.front.find(({ tp, pp, dp }) => tp === 2 && pp === 3 && dp === 1);
  assert.match(
    page.loaded(two.scenario, 16),
    /^gpu = "h200"\ntp = 2\npp = 3\ndp = 1\n\n\[workload\]\nprompt = "uniform:100..900"\noutput = 256\nrequests = 128\nusers = 16$/m,
  );
  assert.doesNotMatch(page.loaded(two.scenario, 16), /rate|replicas|goodput/);
});

test('other keys win over the controls, and a config.json over the model', () => {
  const asked = page.questions({ rate: 4, config: '{}', other: 'tp = 4\n[workload]\nrate = 7' }, catalogue);
  assert.match(asked.run, /^model = "config.json"$/m);
  assert.match(asked.run, /^tp = 4$/m);
  assert.match(asked.run, /^rate = 7$/m);
  assert.equal(asked.config, '{}');
  assert.match(
    page.questions({ price: 'h100=2.1, b200=4' }, catalogue).plan.scenario,
    /^price = \["h100=2.1", "b200=4"\]$/m,
  );
});

test('a pasted scenario fills the controls, and what has none is kept', () => {
  const settings = page.pasted(
    `model = "qwen3-14b"
gpu = "h200"
[workload]
users = 16
prompt = 800
[server]
watermark = 0.02
[output]
goodput = ["ttft:200", "tpot:20"]
price = ["h200=2.5", "b200=4"]
`,
    { rate: 3 },
    fields,
  );
  assert.deepEqual(settings, {
    model: 'qwen3-14b',
    gpu: 'h200',
    load: 'users',
    users: 16,
    prompt: '800',
    ttft: 200,
    tpot: 20,
    price: 'h200=2.5 b200=4',
    other: '[server]\nwatermark = 0.02',
  });
  assert.throws(() => page.pasted('  ', {}, fields), /found nothing/);
  assert.throws(() => page.pasted('{"a": ', {}, fields), /^Error: config.json: /);
});

test('the words of a command of vLLM are those of a shell', () => {
  const words = page.vllmWords(`VLLM_USE_V1=1 exec vllm serve "meta-llama/Llama 3" -tp 2 \\
  --served-model-name 'it''s' --port=80\\ 00 "a \\"b\\"" c#d # a comment
next command`);
  assert.deepEqual(words, [
    'meta-llama/Llama 3',
    '-tp',
    '2',
    '--served-model-name',
    'its',
    '--port=80 00',
    'a "b"',
    'c#d',
  ]);
  assert.deepEqual(page.vllmWords('vllm serve x && echo y'), ['x']);
  assert.ok(page.isVllm('  vllm  serve x') && !page.isVllm('vllm bench serve x') && !page.isVllm('model = "vllm"'));
  const tables = { target: { model: 'x', tp: 2, gpu: null }, workload: { rate: null }, server: { max_num_seqs: 64 } };
  assert.equal(page.vllmScenario(tables), 'model = "x"\ntp = 2\n\n[server]\nmax_num_seqs = 64\n');
});

test('settings return from an address', async () => {
  const settings = { gpu: 'h200', prompt: 'uniform:1..9', rate: 2.5, gpus: ['b200'], expert_parallel: true };
  const address = await page.writeAddress(settings);
  assert.match(address, /^#1\.[\w-]+$/);
  assert.deepEqual(await page.readAddress(address, fields), settings);
  assert.equal(await page.writeAddress({}), '');
  let state = 1;
  const noise = Array.from({ length: 15_000 }, () =>
    String.fromCharCode(33 + ((state = (state * 48_271) % 2_147_483_647) % 90)),
  ).join('');
  assert.equal(await page.writeAddress({ other: noise }), undefined, 'too long');
});

test('addresses that the page did not write are refused', async () => {
  const of = async (json) => page.writeAddress(json);
  const refused = [
    ['#2.abcd', /another version/],
    ['#1.abcd', /damaged/],
    ['#1.', /did not write/],
    ['#<script>', /did not write/],
    [`#1.${'A'.repeat(9000)}`, /did not write/],
    [await of(['a']), /no settings/],
    [await of({ gpu: 'abacus' }), /GPU: expected/],
    [await of({ speed: 1 }), /does not know: "speed"/],
    [await of(JSON.parse('{"__proto__": 1}')), /does not know/],
    [await of({ rate: '<img src=x>' }), /Rate: expected/],
    [await of({ model: { toString: 1 } }), /Model: expected a text/],
    [await of({ other: 'x'.repeat(60_000) }), /at most/],
    [await of({ other: 'x'.repeat(2_000_000) }), /damaged/],
  ];
  for (const [address, reason] of refused)
    await assert.rejects(page.readAddress(address, fields), reason, address.slice(0, 60));
});

test('sliders reach both ends, and round values', () => {
  assert.deepEqual(
    [0, 1000].map((at) => page.valueAt(at, [0.1, 200], false)),
    [0.1, 200],
  );
  assert.deepEqual(
    [0, 1000].map((at) => page.valueAt(at, [0, 0.95], false)),
    [0, 0.95],
  );
  for (let at = 0; at <= 1000; at++) {
    const value = page.valueAt(at, [16, 32_768], true);
    assert.ok(Number.isInteger(value) && Math.abs(page.positionOf(value, [16, 32_768]) - at) <= 60, `${at}: ${value}`);
  }
});

/** Simulates the loads of deployments whose figures are those of `figures(at, users)`; returns them in their order. */
function simulated(gpus, figures) {
  const loads = new page.Loads(gpus);
  const tried = [];
  for (const { at, users } of loads.next()) {
    tried.push({ at, users });
    const known = figures(at, users);
    if (known) loads.note(at, users, known);
    else loads.leaveOut(at);
  }
  return tried;
}

test('loads of the front: few and many users first, then all between that may lead', () => {
  // The second is faster and has less output a GPU; the third is slower all over; the last is refused.
  const slow = [1, 1.6, 0.1];
  const figures = (at, users) =>
    at === 3
      ? undefined
      : {
          tokens_per_s_per_user: (slow[at] * 1000) / (1 + users / 32),
          output_tokens_per_s_per_gpu: ((slow[at] / (at + 1)) * 1000 * users) / (1 + users / 32),
          overloaded: false,
        };
  const tried = simulated([1, 2, 3, 1], figures);
  const of = (at) => tried.filter((one) => one.at === at).map(({ users }) => users);
  const first = [[0, 1], [1, 1], [2, 1], [3, 1], [0, 16], [1, 16], [0, 128], [1, 128]];
  assert.deepEqual(tried.slice(0, 8).map(({ at, users }) => [at, users]), first);
  const ascending = (numbers) => numbers.toSorted((a, b) => a - b);
  const all = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512];
  assert.deepEqual(ascending(of(1)).slice(0, 6), all.slice(0, 6));
  assert.deepEqual(of(2), [1]);
  assert.deepEqual(of(3), [1]);

  // Loads that are not simulated are none of the front.
  const points = tried.filter(({ at }) => at < 3).map(({ at, users }) => figures(at, users));
  const left = [0, 1, 2].flatMap((at) => all.filter((users) => !of(at).includes(users)).map((users) => ({ at, users })));
  for (const { at, users } of left) {
    const skipped = figures(at, users);
    const isBeaten = points.some(
      (one) =>
        one.tokens_per_s_per_user >= skipped.tokens_per_s_per_user &&
        one.output_tokens_per_s_per_gpu >= skipped.output_tokens_per_s_per_gpu,
    );
    assert.ok(isBeaten, `${at} ${users}`);
  }
});

test('an overloaded server keeps no load from being tried', () => {
  const figures = (at, users) => ({
    tokens_per_s_per_user: (at === 0 ? 9000 : 900) / users,
    output_tokens_per_s_per_gpu: at === 0 ? 9000 : 900,
    overloaded: at === 0,
  });
  const tried = simulated([1, 1], figures);
  assert.ok(tried.some(({ at, users }) => at === 1 && users === 32));
});

test('the table without scripts has the figures as they are written', () => {
  const json = `{"a": 1.0, "b": {"c": "x \\"<&", "d": 1e-7, "e": {"f": 2}, "g": [3, {"h": 4}], "i": null},
    "j": [5, "k", ["l"]], "m": true, "n": {}, "o": "7"}`;
  const row = (key, value) => `<tr><th scope="row">${key}</th><td>${value}</td></tr>\n`;
  const rows = [['a', '1.0'], ['b c', 'x &quot;&lt;&amp;'], ['b d', '1e-7'], ['m', 'true'], ['o', '7']];
  const expected = `<table>\n<caption>&lt;name&gt;</caption>\n${rows.map(([key, value]) => row(key, value)).join('')}</table>\n`;
  assert.equal(page.factTable('<name>', json), expected);
  const many = `{${Array.from({ length: 300 }, (_, at) => `"${at}": ${at}`)}}`;
  assert.equal(page.factTable('many', many).match(/<tr>/g).length, 200);
});

test('the front has the rows that no other beats', async () => {
  const reports = [[100, 50, false], [50, 100, false], [200, 200, true], [90, 60, false], [40, 90, false]];
  const rows = [];
  for (const [at, report] of reports.entries()) {
    const [tokens_per_s_per_user, output_tokens_per_s_per_gpu, overloaded] = report;
    const run = { schema_version: 1, gpus: 1, tokens_per_s_per_user, output_tokens_per_s_per_gpu, overloaded };
    rows.push(page.rowOf({ gpu: 'h100', tp: 1, pp: 2, dp: 1 }, at, run));
  }
  const csv = new page.Csv(new TextEncoder().encode(page.sweep(rows)));
  const cells = ['index', 'schema_version', 'gpu', 'pp', 'users', 'gpus', 'error'].map((name) => csv.cell(1, name));
  assert.deepEqual([csv.rows, ...cells], [5, '1', '1', 'h100', '2', '1', '1', '']);
  // As the sweep has it: by ascending tokens per second for each user.
  assert.deepEqual(page.front(csv), [1, 3, 0]);
});

test('a lane drops the old question for the new one', async () => {
  const made = [];
  globalThis.Worker = class {
    asked = [];
    ended = false;
    constructor() {
      made.push(this);
    }
    postMessage(message) {
      if ('task' in message) this.asked.push(message);
    }
    terminate() {
      this.ended = true;
    }
    say(message) {
      this.onmessage({ data: message });
    }
  };
  const workers = new page.Workers('worker.js', {});
  const lane = new page.Lane(workers);
  const parts = [];
  let ends = 0;
  const answer = {
    part: (part) => parts.push(part),
    done: () => {
      ends += 1;
    },
  };
  lane.ask({ kind: 'plan', n: 1 }, answer);
  const [first, spare] = made;
  first.say({ id: 1, state: 'begun' });
  lane.ask({ kind: 'plan', n: 2 }, answer);
  const asked = performance.now();
  while (!first.ended && performance.now() - asked < 1000) await new Promise((resolve) => setTimeout(resolve, 1));
  assert.ok(first.ended && performance.now() - asked < 50, `${performance.now() - asked} ms`);
  assert.deepEqual(
    spare.asked.map(({ task }) => task.n),
    [2],
    'the spare has the new question',
  );
  const { id } = spare.asked[0];
  spare.say({ id, state: 'part', part: 'answer' });
  spare.say({ id, state: 'done' });
  assert.deepEqual([parts, ends], [['answer'], 1]);

  // A worker that turns to the new question in time stays.
  lane.ask({ kind: 'plan', n: 3 }, answer);
  lane.ask({ kind: 'plan', n: 4 }, answer);
  spare.say({ id: id + 1, state: 'begun' });
  spare.say({ id: id + 2, state: 'begun' });
  await new Promise((resolve) => setTimeout(resolve, 60));
  assert.equal(spare.ended, false);
  lane.cancel();
  assert.equal(spare.ended, true);
});
