import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { browser, imported, visit, written } from './harness.mjs';

const { coloured, endOf, HOSTILE, LIGHT, numericScale, pack, raster, requests, specs, spread, timelineSvg, toSvg } = await imported('tests/node.ts');

function all() {
  const drawn = Object.entries(specs()).map(([id, spec]) => [id, toSvg(spec, 640)]);
  const spec = requests(500);
  const lanes = pack(spec);
  return [...drawn, ['timeline', timelineSvg(spec, lanes, 640, { x: [0, 30], y: [0, lanes.lanes.length] })]];
}

test('drawings are the same each time, finite and without markup of names', () => {
  assert.deepEqual(all(), all());
  for (const [id, svg] of all()) {
    assert.doesNotMatch(svg, /NaN|Infinity|undefined|@|var\(|class=|style=/, id);
    assert.ok(!svg.includes('<img'), id);
  }
  assert.match(toSvg(specs().grouped, 640), /&lt;img src=x/);
  assert.ok(HOSTILE.startsWith('<img'));
});

test('values that cannot be drawn are left out', () => {
  const odd = [NaN, Infinity, -Infinity, 0, -1, 1e-300, 1e300, 5, 5];
  for (const scale of ['linear', 'log']) {
    for (const mark of ['line', 'steps', 'dots', 'bars', 'stack', 'area']) {
      const points = odd.flatMap((x, i) => odd.map((y) => ({ x, y, low: odd[i], high: odd.at(-i), to: x + 1 })));
      for (const some of [points, points.slice(0, 1), points.filter((point) => point.y === 5 && point.x === 5), []]) {
        const axis = { label: 'a', scale };
        const svg = toSvg({ title: mark, x: axis, y: axis, series: [{ name: 'a', mark, points: some }, { name: 'b', mark, points: [] }], limits: [{ axis: 'y', value: NaN, label: 'limit' }] }, 400);
        assert.doesNotMatch(svg, /NaN|Infinity/, `${scale} ${mark} ${some.length}`);
      }
    }
  }
});

test('values below the least one of an axis are at its edge, and keep their texts', () => {
  const axis = { label: 'a', scale: 'log' };
  const points = [{ x: 1, y: 0 }, { x: 10, y: 1e-9 }, { x: 100, y: 1000 }];
  const spec = { title: 'least', x: axis, y: { ...axis, least: 1 }, series: [{ name: 'a', mark: 'line', points }] };
  const svg = toSvg(spec, 400);
  const [, line] = /d="(M[^"]+)"[^>]*stroke-width="2/.exec(svg);
  const [zero, tiny, large] = [...line.matchAll(/[ML ]?[\d.]+[ ,]([\d.]+)/g)].map(([, y]) => Number(y));
  assert.equal(zero, tiny);
  assert.ok(large < zero - 200, line);
});

test('names of vertical limits cover no other', () => {
  const axis = { label: 'a', scale: 'linear' };
  const limits = [10, 50, 52, 53].map((value) => ({ axis: 'x', value, label: `limit at ${value}` }));
  const svg = toSvg({ title: 'limits', x: axis, y: axis, series: [{ name: 'a', mark: 'line', points: [{ x: 0, y: 1 }, { x: 100, y: 2 }] }], limits }, 400);
  const rows = [...svg.matchAll(/<text [^>]*y="([\d.]+)"[^>]*>limit at (\d+)/g)].map(([, y, value]) => [Number(value), Number(y)]);
  const [alone, ...close] = rows.sort(([a], [b]) => a - b).map(([, y]) => y);
  assert.equal(rows.length, 4);
  assert.equal(new Set(close).size, 3);
  assert.equal(alone, Math.min(...close));
});

test('texts beside points cover no point and no other text', () => {
  const axis = { label: 'a', scale: 'linear' };
  const line = (n, apart) => Array.from({ length: n }, (_, i) => ({ x: i * apart, y: 100 - i * apart, tag: `tag${i}` }));
  const found = (points) => {
    const svg = toSvg({ title: 'tags', x: axis, y: axis, series: [{ name: 'a', mark: 'line', points }] }, 400);
    return [...svg.matchAll(/<text x="([\d.]+)" y="([\d.]+)" font-size="11"[^>]*>tag\d+</g)].map(([, x, y]) => [Number(x), Number(y)]);
  };
  assert.equal(found(line(5, 20)).length, 5);
  assert.equal(found(line(13, 8)).length, 0);
  // Most of those of crowded points are left out.
  const crowded = found([...line(10, 0.5), { x: 100, y: 0, tag: 'tag99' }]);
  assert.ok(crowded.length > 1 && crowded.length < 8, `${crowded.length}`);
  crowded.forEach(([x, y], i) => crowded.slice(0, i).forEach(([a, b]) => assert.ok(Math.abs(x - a) >= 20 || Math.abs(y - b) >= 9)));
});

test('seven series have colours of their own, of more the first six', () => {
  const of = (n) => coloured(Array.from({ length: n }, (_, i) => i));
  assert.deepEqual(of(7), { own: [0, 1, 2, 3, 4, 5, 6], others: [] });
  assert.deepEqual(of(8), { own: [0, 1, 2, 3, 4, 5], others: [6, 7] });
});

test('drawings are well-formed and within their frame', async () => {
  const chromium = await browser();
  try {
    for (const [id, svg] of all()) {
      await visit(chromium, await written(`${id}.svg`, svg), {}, async (page) => {
        const outside = await page.evaluate(() => {
          const frame = document.documentElement.getBoundingClientRect();
          const texts = [...document.querySelectorAll('text')].map((text) => [text.textContent, text.getBoundingClientRect()]);
          return texts.filter(([, box]) => box.left < frame.left - 1 || box.right > frame.right + 1 || box.bottom > frame.bottom + 1).map(([text]) => text);
        });
        assert.deepEqual(outside, [], id);
      });
    }
  } finally {
    await chromium.close();
  }
});

test('the light theme has the colours of drawings', async () => {
  const css = await readFile(new URL('../src/theme.css', import.meta.url), 'utf8');
  const root = css.slice(0, css.indexOf('}'));
  for (const [token, colour] of Object.entries(LIGHT)) assert.ok(root.includes(`--${token}: ${colour};`), token);
});

/** Relative luminance contrast of WCAG. */
function contrast(a, b) {
  const luminance = (hex) => {
    const [r, g, blue] = [1, 3, 5].map((i) => Number.parseInt(hex.slice(i, i + 2), 16) / 255).map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * blue;
  };
  const [high, low] = [luminance(a), luminance(b)].sort((x, y) => y - x);
  return (high + 0.05) / (low + 0.05);
}

test('marks and texts have the contrast that WCAG asks for', async () => {
  const css = await readFile(new URL('../src/theme.css', import.meta.url), 'utf8');
  const themes = css.split('@media screen').map((part) => Object.fromEntries([...part.matchAll(/--(\w+): (#\w{6});/g)].map((match) => match.slice(1))));
  for (const theme of themes.slice(0, 2)) {
    for (const token of ['c0', 'c1', 'c2', 'c3', 'c4', 'c5', 'c6', 'muted', 'bad', 'edge']) assert.ok(contrast(theme[token], theme.ground) >= 3, `${token} ${theme[token]}`);
    for (const token of ['ink', 'faint', 'accent']) assert.ok(contrast(theme[token], theme.ground) >= 4.5, `${token} ${theme[token]}`);
  }
});

test('labels at the ends of lines are moved apart within the plot', () => {
  const labels = spread([10, 12, 11, 95].map((target, i) => ({ text: String(i), target })), 16, 0, 100);
  const ys = labels.map((label) => label.y).sort((a, b) => a - b);
  ys.forEach((y, i) => assert.ok(y >= 0 && y <= 100 && (i === 0 || y - ys[i - 1] >= 16)));
  assert.equal(spread(Array.from({ length: 9 }, () => ({ text: '', target: 0 })), 16, 0, 100), undefined);
});

test('ticks of an axis are round and read as numbers', () => {
  const texts = (scale, domain) => numericScale({ label: '', scale }, domain, [0, 500], 5).ticks.map((tick) => tick.text);
  assert.deepEqual(texts('linear', [0, 50_000]), ['0', '10_000', '20_000', '30_000', '40_000', '50_000']);
  assert.deepEqual(texts('log', [1, 10_000]), ['1', '10', '100', '1000', '10_000']);
  assert.deepEqual(texts('linear', [0, 0.5]), ['0.0', '0.1', '0.2', '0.3', '0.4', '0.5']);
});

test('requests of a lane do not overlap, and lanes are as many as run at once', () => {
  const spec = requests(2000);
  const { groups, laneOf, lanes } = pack(spec);
  assert.equal(lanes.reduce((sum, lane) => sum + lane.length, 0), 2000);
  for (const lane of lanes) lane.forEach((request, i) => assert.ok(i === 0 || spec.starts[request] >= endOf(spec, lane[i - 1])));
  groups.forEach((group, g) => {
    const members = Array.from({ length: 2000 }, (_, i) => i).filter((i) => spec.group[i] === g);
    const atOnce = members.map((i) => members.filter((j) => spec.starts[j] <= spec.starts[i] && endOf(spec, j) > spec.starts[i]).length);
    assert.equal(group.count, Math.max(...atOnce));
    assert.ok(members.every((i) => laneOf[i] >= group.first && laneOf[i] < group.first + group.count));
  });
});

test('pixels of a timeline keep the time of its phases', () => {
  const spec = requests(3000);
  const lanes = pack(spec);
  const x = [0, 40];
  const window = { x, y: [0, lanes.lanes.length], width: 200, height: lanes.lanes.length };
  const bytes = raster(spec, lanes, window, [[0, 0, 0], [0, 0, 0], [0, 0, 0]]);
  let drawn = 0;
  for (let i = 3; i < bytes.length; i += 4) drawn += bytes[i] / 255;
  let busy = 0;
  for (let i = 0; i < 3000; i += 1) busy += Math.max(0, Math.min(x[1], endOf(spec, i)) - Math.max(x[0], spec.starts[i]));
  const expected = (busy * window.width) / (x[1] - x[0]);
  assert.ok(Math.abs(drawn / expected - 1) < 0.01, `${drawn} pixels, expected ${expected}`);
});

test('200_000 requests are packed and drawn within seconds on a slow machine', () => {
  const spec = requests(200_000);
  const start = performance.now();
  const lanes = pack(spec);
  const packed = performance.now();
  const end = Math.max(...[...spec.ends[2].slice(-1000)]);
  raster(spec, lanes, { x: [0, end], y: [0, lanes.lanes.length], width: 1200, height: 300 }, [[1, 1, 1], [2, 2, 2], [3, 3, 3]]);
  const drawn = performance.now();
  console.log(`packed in ${Math.round(packed - start)} ms, drawn in ${Math.round(drawn - packed)} ms`);
  assert.ok(drawn - start < 5000);
});
