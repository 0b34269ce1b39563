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

/** Opens the gallery and calls `use` with the page and a figure. */
function figure(id, use, options = {}) {
  return visit(chromium, url, { viewport: { width: 1000, height: 900 }, ...options }, async (page) => {
    const one = page.locator(`#${id}`);
    await one.locator('.stage > svg').first().waitFor();
    await one.scrollIntoViewIfNeeded();
    return use(page, one, one.locator('.readout'), one.locator('.stage'));
  });
}

async function drag(page, stage, from, to) {
  const box = await stage.boundingBox();
  await page.mouse.move(box.x + box.width * from[0], box.y + box.height * from[1]);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * to[0], box.y + box.height * to[1], { steps: 4 });
  await page.mouse.up();
}

const ticks = (one) => one.locator('.stage > svg').first().locator('text[text-anchor="middle"]').allTextContents();

test('a pointer reads the nearest point and the series beside it', () =>
  figure('lines', async (page, one, readout, stage) => {
    const box = await stage.boundingBox();
    await page.mouse.move(box.x + box.width * 0.88, box.y + box.height * 0.2);
    assert.equal(await readout.textContent(), 'h100-sxm: rate 7 requests/s, TPOT p99 58 ms (55.1 to 61.5); h200-sxm 18.3; b200-sxm 16');
    assert.equal(await one.locator('.over circle').count(), 1);
    await page.mouse.move(box.x + 10, box.y + box.height + 60);
    assert.equal(await readout.textContent(), '');
  }));

test('keys step through points and series, and zoom', () =>
  figure('lines', async (page, one, readout, stage) => {
    await stage.focus();
    await page.keyboard.press('ArrowRight');
    assert.match(await readout.textContent(), /^h100-sxm: rate 0\.5/);
    await page.keyboard.press('ArrowRight');
    assert.match(await readout.textContent(), /^h100-sxm: rate 1 /);
    await page.keyboard.press('ArrowDown');
    assert.match(await readout.textContent(), /^h200-sxm: rate 1 /);
    await page.keyboard.press('ArrowUp');
    await page.keyboard.press('ArrowUp');
    assert.match(await readout.textContent(), /^b200-sxm: rate 1 /);
    await page.keyboard.press('End');
    assert.match(await readout.textContent(), /rate 7 /);
    const full = await ticks(one);
    for (let i = 0; i < 3; i += 1) await page.keyboard.press('+');
    assert.notDeepEqual(await ticks(one), full);
    // The plot follows the focus out of the zoomed part.
    await page.keyboard.press('Home');
    assert.match(await readout.textContent(), /rate 0\.5/);
    const circle = await one.locator('.over circle').boundingBox();
    const frame = await stage.boundingBox();
    assert.ok(circle.x > frame.x && circle.x < frame.x + frame.width);
    await page.keyboard.press('Escape');
    assert.deepEqual(await ticks(one), full);
  }));

test('vertical keys step through lying bars, and horizontal ones through their parts', () =>
  figure('parts', async (page, _one, readout, stage) => {
    await stage.focus();
    for (const [key, expected] of [['ArrowDown', /^gemm: 1,/], ['ArrowDown', /^gemm: 8,/], ['ArrowRight', /^attention: 8,/], ['ArrowUp', /^attention: 1,/]]) {
      await page.keyboard.press(key);
      assert.match(await readout.textContent(), expected);
    }
  }));

test('a drag zooms, a double click, Escape and the button reset', () =>
  figure('dots', async (page, one, _readout, stage) => {
    const full = await ticks(one);
    const reset = one.getByRole('button', { name: 'Reset zoom' });
    assert.ok(!(await reset.isVisible()));
    for (const back of [() => stage.dblclick(), () => page.keyboard.press('Escape'), () => reset.click()]) {
      await stage.focus();
      await drag(page, stage, [0.4, 0.3], [0.6, 0.6]);
      assert.notDeepEqual(await ticks(one), full);
      assert.ok(await reset.isVisible());
      await back();
      assert.deepEqual(await ticks(one), full);
    }
    // Without a drag (WCAG 2.5.7).
    await one.getByRole('button', { name: 'Zoom in' }).click();
    assert.notDeepEqual(await ticks(one), full);
    await one.getByRole('button', { name: 'Zoom out' }).click();
    await one.getByRole('button', { name: 'Zoom out' }).click();
    assert.deepEqual(await ticks(one), full);
    assert.ok(!(await reset.isVisible()));
    await stage.focus();
    for (let i = 0; i < 80; i += 1) await page.keyboard.press('+');
    const deepest = await ticks(one);
    assert.ok(deepest.length > 1 && new Set(deepest).size === deepest.length, deepest.join());
  }));

test('linked charts zoom together and have aligned plots', () =>
  figure('queue', async (page, one, _readout, stage) => {
    const other = page.locator('#running');
    const axes = () => Promise.all([one, other].map((each) => each.locator('.stage > svg > svg').first().getAttribute('x')));
    const [left, right] = await axes();
    assert.equal(left, right);
    await drag(page, stage, [0.3, 0.5], [0.4, 0.5]);
    assert.deepEqual(await ticks(one), await ticks(other));
    assert.ok(await other.getByRole('button', { name: 'Reset zoom' }).isVisible());
    await other.locator('.stage').focus();
    await page.keyboard.press('Escape');
    assert.ok(!(await one.getByRole('button', { name: 'Reset zoom' }).isVisible()));
  }));

test('the legend switches series', () =>
  figure('grouped', async (page, one) => {
    const bars = () => one.locator('.stage > svg > svg path[fill-opacity="0.85"]').count();
    const button = one.locator('.legend').getByRole('button', { name: 'measured' });
    assert.equal(await bars(), 3);
    assert.equal(await button.getAttribute('aria-pressed'), 'true');
    await button.focus();
    await page.keyboard.press('Enter');
    assert.equal(await button.getAttribute('aria-pressed'), 'false');
    assert.equal(await bars(), 2);
    await button.click();
    assert.equal(await bars(), 3);
    assert.equal(await one.locator('img').count(), 0);
  }));

test('lines are named at their ends, without a legend where there is room', () =>
  figure('lines', async (page, one) => {
    assert.ok(!(await one.locator('.legend').isVisible()));
    await page.setViewportSize({ width: 420, height: 800 });
    await one.locator('.legend').waitFor({ state: 'visible' });
    assert.equal(await one.locator('.legend button').count(), 3);
  }));

test('the table of values has pages and sorts', () =>
  figure('dense', async (page, one) => {
    await one.locator('summary').click();
    const table = one.locator('.table');
    assert.equal(await table.locator('tbody tr').count(), 50);
    assert.match(await table.locator('.page').textContent(), /^Rows 1 to 50 of 20_000$/);
    await table.getByRole('button', { name: 'Last page' }).click();
    assert.match(await table.locator('.page').textContent(), /^Rows 19_951 to 20_000/);
    await table.getByRole('button', { name: 'Previous page' }).click();
    assert.match(await table.locator('.page').textContent(), /^Rows 19_901/);
    const sort = table.locator('thead').getByRole('button', { name: 'TTFT (ms)' });
    await sort.click();
    const first = () => table.locator('tbody tr').first().locator('td').last().textContent();
    assert.match(await table.locator('.page').textContent(), /^Rows 1 to 50/);
    assert.equal(await table.locator('th[aria-sort="ascending"]').count(), 1);
    const least = await first();
    await sort.click();
    assert.match(least, /^2\d\.\d ms$/);
    assert.match(await first(), /^\d\d\.\d s$/);
    assert.equal(await table.locator('tbody th[scope="row"]').count(), 50);
  }));

async function saved(page, button) {
  const [download] = await Promise.all([page.waitForEvent('download'), button.click()]);
  return [download.suggestedFilename(), await readFile(await download.path(), 'utf8')];
}

test('a chart is saved as SVG in light colours and as CSV with all digits', () =>
  figure(
    'grouped',
    async (page, one) => {
      const [name, svg] = await saved(page, one.getByRole('button', { name: 'Save SVG' }));
      assert.equal(name, 'predicted-and-measured-throughput.svg');
      assert.match(svg, /^<svg xmlns="http:\/\/www.w3.org\/2000\/svg"/);
      assert.ok(svg.includes('#0072b2') && !svg.includes('var(') && !svg.includes('<img'));
      const [, csv] = await saved(page, one.getByRole('button', { name: 'Save CSV' }));
      const lines = csv.split('\n');
      assert.equal(lines[0], 'configuration,predicted,measured,"measured, low","measured, high","<img src=x onerror=""alert(1)"">&lt;b>"');
      assert.equal(lines[1], '"tp 1, batch 8",9000,8700,8500,9100,4000');
      assert.equal(lines.length, 6);
    },
    { colorScheme: 'dark' },
  ));

test('a finger reads values and does not zoom', () =>
  figure(
    'lines',
    async (page, one, readout, stage) => {
      const full = await ticks(one);
      const box = await stage.boundingBox();
      await page.touchscreen.tap(box.x + box.width * 0.5, box.y + box.height * 0.5);
      assert.match(await readout.textContent(), /rate \d/);
      assert.deepEqual(await ticks(one), full);
    },
    { hasTouch: true, viewport: { width: 390, height: 800 } },
  ));

test('20_000 dots are on a canvas and answer within a frame or two', () =>
  figure('dense', async (page, one, readout, stage) => {
    assert.equal(await one.locator('canvas').count(), 1);
    assert.ok((await one.locator('.stage *').count()) < 120);
    await stage.focus();
    const ms = await page.evaluate(() => {
      const stage = document.querySelector('#dense .stage');
      const box = stage.getBoundingClientRect();
      const start = performance.now();
      for (let i = 0; i < 20; i += 1) stage.dispatchEvent(new PointerEvent('pointermove', { clientX: box.x + 100 + i * 20, clientY: box.y + 150, pointerType: 'mouse' }));
      return (performance.now() - start) / 20;
    });
    console.log(`a move of the pointer over 20_000 dots takes ${ms.toFixed(1)} ms`);
    assert.ok(ms < 100);
    assert.match(await readout.textContent(), /^prompt /);
  }));

test('a chart and a timeline without values say so', () =>
  visit(chromium, url, {}, async (page) => {
    assert.equal(await page.getByText('There are no values to draw.').count(), 2);
  }));
