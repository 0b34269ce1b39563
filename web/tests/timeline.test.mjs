import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, test } from 'node:test';
import { browser, gallery, visit } from './harness.mjs';

let chromium;
let url;
before(async () => {
  chromium = await browser();
  url = await gallery();
});
after(() => chromium.close());

function timeline(use, { requests = 3000, ...options } = {}) {
  return visit(chromium, `${url}?requests=${requests}`, { viewport: { width: 1000, height: 900 }, ...options }, async (page) => {
    const one = page.locator('#timeline');
    await one.locator('canvas').waitFor();
    await one.scrollIntoViewIfNeeded();
    return use(page, one, one.locator('.readout'), one.locator('.stage'));
  });
}

/** Colours of a row of the canvas that are opaque. */
const colours = (one) =>
  one.locator('canvas').evaluate((canvas) => {
    const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext('2d');
    copy.drawImage(canvas, 0, 0);
    const { data } = copy.getImageData(0, 0, canvas.width, canvas.height);
    const found = new Set();
    for (let i = 0; i < data.length; i += 4) if (data[i + 3] === 255) found.add(`${data[i]},${data[i + 1]},${data[i + 2]}`);
    return [...found];
  });

test('requests are drawn in the colours of their phases, in both themes', async () => {
  for (const [colorScheme, decode] of [['light', '0,114,178'], ['dark', '86,180,233']]) {
    await timeline(async (_page, one) => assert.ok((await colours(one)).includes(decode)), { colorScheme });
  }
});

test('a pointer and keys read a request', () =>
  timeline(async (page, _one, readout, stage) => {
    const box = await stage.boundingBox();
    await page.mouse.move(box.x + box.width * 0.5, box.y + 20);
    assert.match(await readout.textContent(), /^request \d+: replica 0, from \d[\d.]* s, queue [\d.]+ s, prefill [\d.]+ s, decode [\d.]+ s$/);
    await stage.focus();
    await page.keyboard.press('Home');
    assert.match(await readout.textContent(), /^request 0: replica 0/);
    const lane = [];
    for (let i = 0; i < 3; i += 1) {
      await page.keyboard.press('ArrowRight');
      lane.push(Number(/^request (\d+)/.exec(await readout.textContent())[1]));
    }
    assert.ok(lane[0] > 0 && lane[1] > lane[0] && lane[2] > lane[1]);
    await page.keyboard.press('ArrowDown');
    assert.notEqual(Number(/^request (\d+)/.exec(await readout.textContent())[1]), lane[2]);
    await page.keyboard.press('End');
    assert.match(await readout.textContent(), /^request 2999/);
  }));

test('the legend hides a phase and shows it again', () =>
  timeline(async (page, one) => {
    const decode = one.locator('.legend').getByRole('button', { name: 'decode' });
    const isDrawn = async () => (await colours(one)).includes('0,114,178');
    assert.ok(await isDrawn());
    await decode.focus();
    await page.keyboard.press('Enter');
    assert.equal(await decode.getAttribute('aria-pressed'), 'false');
    assert.ok(!(await isDrawn()) && (await colours(one)).length > 0, 'the other phases stay');
    await decode.click();
    assert.ok(await isDrawn());
  }));

test('keys zoom to a request and back', () =>
  timeline(async (page, one, _readout, stage) => {
    const ticks = () => one.locator('.stage text[text-anchor="middle"]').allTextContents();
    const full = await ticks();
    await stage.focus();
    await page.keyboard.press('End');
    for (let i = 0; i < 4; i += 1) await page.keyboard.press('+');
    assert.notDeepEqual(await ticks(), full);
    await page.keyboard.press('Home');
    const bar = await one.locator('.over rect').boundingBox();
    const frame = await stage.boundingBox();
    assert.ok(bar.x >= frame.x && bar.x < frame.x + frame.width && bar.y >= frame.y && bar.y < frame.y + frame.height);
    await page.keyboard.press('Escape');
    assert.deepEqual(await ticks(), full);
  }));

test('a timeline is saved as SVG and CSV', () =>
  timeline(async (page, one) => {
    const saved = async (name) => {
      const [download] = await Promise.all([page.waitForEvent('download'), one.getByRole('button', { name }).click()]);
      return readFile(await download.path(), 'utf8');
    };
    const svg = await saved('Save SVG');
    assert.ok(svg.includes('#0072b2') && svg.includes('replica 1') && svg.length < 2_000_000);
    const csv = (await saved('Save CSV')).split('\n');
    assert.equal(csv[0], 'request,group,start,queue,prefill,decode,end');
    assert.equal(csv.length, 3002);
  }));

test('200_000 requests zoom within a few frames', () =>
  timeline(
    async (page, one, readout) => {
      const ms = await page.evaluate(() => {
        const stage = document.querySelector('#timeline .stage');
        const press = (key) => stage.dispatchEvent(new KeyboardEvent('keydown', { key }));
        const start = performance.now();
        for (let i = 0; i < 5; i += 1) press('+');
        for (let i = 0; i < 5; i += 1) press('-');
        return (performance.now() - start) / 10;
      });
      console.log(`a zoom of 200_000 requests takes ${ms.toFixed(1)} ms`);
      assert.ok(ms < 300);
      await one.locator('.stage').hover();
      assert.match(await readout.textContent(), /^request \d+/);
    },
    { requests: 200_000 },
  ));
