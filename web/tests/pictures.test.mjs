// The pictures of the documentation are those that the code of the report draws.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { pictures } from '../pictures.mjs';

test('the pictures of the guide are up to date', async () => {
  const drawn = Object.entries(await pictures());
  assert.notEqual(drawn.length, 0);
  for (const [name, svg] of drawn) {
    const committed = await readFile(new URL(`../../docs/${name}`, import.meta.url), 'utf8');
    assert.equal(committed, svg, `${name}: draw it again with node pictures.mjs`);
  }
});
