import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { browser, gallery, violations, visit } from './harness.mjs';

let chromium;
let url;
before(async () => {
  chromium = await browser();
  url = await gallery();
});
after(() => chromium.close());

/** Texts that are wider than the page or cut by the plot that they are in. */
const outside = (page) =>
  page.evaluate(() => {
    const found = document.documentElement.scrollWidth > innerWidth ? ['the page scrolls sideways'] : [];
    for (const stage of document.querySelectorAll('.stage')) {
      const frame = stage.getBoundingClientRect();
      for (const text of stage.querySelectorAll('text')) {
        const box = text.getBoundingClientRect();
        if (box.left < frame.left - 1 || box.right > frame.right + 1) found.push(text.textContent);
      }
    }
    return found;
  });

for (const width of [390, 768, 1440]) {
  for (const colorScheme of ['light', 'dark']) {
    test(`${width} px, ${colorScheme}: accessible, nothing cut`, () =>
      visit(chromium, url, { viewport: { width, height: 900 }, colorScheme }, async (page) => {
        await page.locator('#timeline canvas').waitFor();
        await page.locator('#grouped summary').click();
        await page.locator('#dense summary').click();
        assert.deepEqual(await violations(page), []);
        assert.deepEqual(await outside(page), []);
      }));
  }
}

test('200 % zoom keeps the page within its width', () =>
  visit(chromium, url, { viewport: { width: 640, height: 450 }, deviceScaleFactor: 2 }, async (page) => {
    await page.locator('#timeline canvas').waitFor();
    assert.deepEqual(await outside(page), []);
    const canvas = await page.locator('#timeline canvas').evaluate((one) => one.width / one.getBoundingClientRect().width);
    assert.equal(canvas, 2);
  }));

test('nothing moves on its own, with or without reduced motion', async () => {
  for (const reducedMotion of ['reduce', 'no-preference']) {
    await visit(chromium, url, { reducedMotion }, async (page) => {
      await page.locator('#lines .stage').hover();
      assert.equal(await page.evaluate(() => document.getAnimations().length), 0);
    });
  }
});

test('everything is reached by keys, in the order of the page', () =>
  visit(chromium, url, { viewport: { width: 1000, height: 900 } }, async (page) => {
    const reached = [];
    for (let i = 0; i < 6; i += 1) {
      await page.keyboard.press('Tab');
      reached.push(await page.evaluate(() => document.activeElement.className || document.activeElement.getAttribute('aria-label') || document.activeElement.textContent));
    }
    assert.deepEqual(reached, ['stage', 'Zoom in', 'Zoom out', 'Save SVG', 'Save CSV', 'Table of values, 14 rows']);
  }));

test('print leaves out what paper cannot do and fits the sheet', () =>
  visit(chromium, url, { viewport: { width: 1000, height: 900 }, colorScheme: 'dark' }, async (page) => {
    await page.locator('#timeline canvas').waitFor();
    await page.emulateMedia({ media: 'print' });
    await page.setViewportSize({ width: 700, height: 900 });
    assert.ok(!(await page.locator('.tools').first().isVisible()));
    assert.ok(await page.locator('#lines .stage svg').first().isVisible());
    assert.equal(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), 'rgb(255, 255, 255)');
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
  }));
