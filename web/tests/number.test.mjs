import assert from 'node:assert/strict';
import { test } from 'node:test';
import { imported } from './harness.mjs';

const { csvLine, fileName, fixed, latency, number, percent, plural, threeDigits, withError } = await imported('tests/node.ts');

test('thousands are separated from five digits on', () => {
  assert.equal(fixed(9999, 0), '9999');
  assert.equal(fixed(10_000, 0), '10_000');
  assert.equal(fixed(-12345.5, 2), '-12_345.50');
  assert.equal(fixed(1_234_567, 0), '1_234_567');
  assert.equal(plural(13_995, 'row'), '13_995 rows');
  assert.equal(plural(1, 'row'), '1 row');
});

// The expected texts are those of the tests of the command (cli/src/output.rs).
test('latencies and figures read as the command prints them', () => {
  assert.deepEqual([9_999, 10_000, 1_268_688].map(latency), ['9999 ms', '10.0 s', '1269 s']);
  const shown = [0, 0.0196, 0.9996, 9.28, 9.996, 42.76, 99.96, 783.4, 2763.15];
  assert.deepEqual(shown.map(threeDigits), ['0', '0.020', '1.00', '9.28', '10.0', '42.8', '100', '783', '2763']);
  assert.equal(fixed(1.2345e15, 2), '1.23e15');
  assert.deepEqual([0, 0.04, 0.05, 9.94, 9.96, 97.3].map(percent), ['0 %', '<0.1 %', '0.1 %', '9.9 %', '10 %', '97 %']);
});

test('ties round to even, as in Rust', () => {
  assert.deepEqual([0.5, 1.5, 2.5, -2.5].map((value) => fixed(value, 0)), ['0', '2', '2', '-2']);
  assert.deepEqual([0.125, 0.375, 0.625].map((value) => fixed(value, 2)), ['0.12', '0.38', '0.62']);
  // Not a tie: the nearest double is above 1.005.
  assert.equal(fixed(2.675, 2), '2.67');
});

test('significant digits keep those before the point', () => {
  assert.deepEqual([0.123456, 12.3456, 99.96, 123456.7, 0.00001].map((value) => number(value, 3)), ['0.123', '12.3', '100', '123_457', '1.00e-5']);
  assert.equal(number(NaN, 3), '–');
});

test('an error bar limits the digits', () => {
  assert.equal(withError(23.1234, 0.42), '23.1 ± 0.4');
  assert.equal(withError(23.1234, 0.123), '23.12 ± 0.12');
  assert.equal(withError(13_995.4, 120), '13_995 ± 120');
  assert.equal(withError(23.1234, 0), '23.1');
});

test('CSV quotes what needs it', () => {
  assert.equal(csvLine(['a,b', 'say "x"', 1.5, NaN, undefined]), '"a,b","say ""x""",1.5,,\n');
  assert.equal(fileName('TPOT rises: 40 ms <met>'), 'tpot-rises-40-ms-met');
});
