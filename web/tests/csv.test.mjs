// CSV in columns.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { imported } from './harness.mjs';

const module = await imported('src/data/csv.ts');

/** Reads text. */
class Csv extends module.Csv {
  constructor(text) {
    super(new TextEncoder().encode(text));
  }
}

test('cells keep quotes, commas and line breaks inside of quotes', () => {
  const csv = new Csv('a,b,c\n1,"x, ""y""\nz",3\n,,\n');
  assert.deepEqual(csv.names, ['a', 'b', 'c']);
  assert.equal(csv.rows, 2);
  assert.equal(csv.cell(0, 'b'), 'x, "y"\nz');
  assert.deepEqual(csv.texts('c'), ['3', '']);
  assert.deepEqual([...csv.numbers('a')], [1, NaN]);
  assert.equal(csv.numbers('d'), undefined);
  assert.equal(csv.cell(0, 'd'), '');
  assert.equal(csv.cell(9, 'a'), '');
});

test('lines may end as on Windows, and the last one without a break', () => {
  const csv = new Csv('a,b\r\n1,2\r\n3,4');
  assert.deepEqual(csv.names, ['a', 'b']);
  assert.deepEqual([...csv.numbers('b')], [2, 4]);
  assert.equal(new Csv('a,b\n1,2\n3,').rows, 2);
});

test('text that repeats, and text of other alphabets, is read', () => {
  const csv = new Csv('gpu,tp\nh100,1\nh100,1\nh200,12\n\u00e9\u4e2d,1\n\u00e9\u4e2d,\n');
  assert.deepEqual(csv.texts('gpu'), ['h100', 'h100', 'h200', '\u00e9\u4e2d', '\u00e9\u4e2d']);
  assert.deepEqual(csv.texts('tp'), ['1', '1', '12', '1', '']);
  assert.equal(csv.find('gpu', (cell) => cell === 'h200'), 2);
});

test('no text has no rows', () => {
  assert.deepEqual([new Csv('').rows, new Csv('a,b').rows, new Csv('a,b\n').rows, new Csv('a,b\n1').rows], [0, 0, 0, 0]);
});

test('numbers are those of JavaScript, to the last bit', () => {
  const texts = ['0', '-1.5', '1e3', '.5', '5.', '1.', '00012.50', '123456789012345678', '0.1', '1.2.3', ' 7', 'NaN', 'Infinity', '1_000', '+3', '"4.5"', '9007199254740993', '0.0000000000001', 'true'];
  for (let at = 0; at < 20_000; at++) {
    const value = Math.abs(Math.sin(at) * 10 ** (at % 9));
    texts.push(value.toFixed(at % 10), String(value));
  }
  const read = new Csv(`a\n${texts.join('\n')}\n`).numbers('a');
  texts.forEach((text, at) => {
    const expected = Number(text.replaceAll('"', ''));
    assert.ok(Object.is(read[at], expected), `${text}: ${read[at]}`);
  });
});
