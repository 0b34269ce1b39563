/** The section of a comparison of two runs. */
import { chart, type Point } from '../chart/index.js';
import { get, list, num, text, texts, truth, type Json } from '../data/json.js';
import { fixed, percent, threeDigits } from '../data/number.js';
import { absent, answer, facts, grid, group, notes, paragraph, type Child } from './dom.js';

/** Terms below this share of the largest are not drawn. */
const MIN_TERM = 0.01;

export function compareSection(json: Json): Child[] {
  const causes = list(json, 'causes').map(causeBars).filter((bars) => bars !== undefined);
  return [
    answer(sentence(json)),
    paragraph(
      'Differences are B minus A, of two simulations of the same tables; ' +
        'errors of the model that both share cancel out in them.',
    ),
    facts('The two runs', [
      ['A', side(json, 'a')],
      ['B', side(json, 'b')],
    ]),
    group('Settings that differ', settings(json)),
    group('Figures side by side', figures(json)),
    group(
      'Where the differences come from',
      ...(causes.length > 0 ? causes : [absent('No latency differs.', 'There is nothing to divide into terms.')]),
      notes(texts(json, 'remarks')),
    ),
  ];
}

function side(json: Json, key: string): string | undefined {
  const all = [text(json, `${key}.title`), text(json, `${key}.path`)].filter((it) => it !== undefined);
  return all.length === 0 ? undefined : all.join(', ');
}

/** Returns the largest differences of figures that a planner looks at first. */
function sentence(json: Json): string {
  const [a, b] = [text(json, 'a.title') ?? 'A', text(json, 'b.title') ?? 'B'];
  const wanted = ['TTFT p99', 'TPOT mean', 'E2E p99', 'requests', 'cost of 1M output tokens'];
  const found = list(json, 'figures').filter(
    (figure) => !truth(figure, 'is_term') && wanted.includes(text(figure, 'name') ?? ''),
  );
  const said = found.flatMap((figure) => {
    const change = num(figure, 'percent');
    if (change === undefined) return [];
    const signed = `${change > 0 ? '+' : '-'}${percent(Math.abs(change))}`;
    return [`${figureName(figure)} ${Math.abs(change) < 0.05 ? 'equal' : signed}`];
  });
  const both = a === b ? `B against A, both ${a}` : `${b} (B) against ${a} (A)`;
  return said.length === 0 ? `${both}.` : `${both}: ${said.join(', ')}.`;
}

function figureName(figure: Json): string {
  const name = text(figure, 'name') ?? '';
  return text(figure, 'unit') === '1/s' ? `${name}/s` : name;
}

function settings(json: Json): HTMLElement {
  const rows = list(json, 'settings').map((setting) => [
    text(setting, 'key') ?? '-',
    shown(get(setting, 'a')),
    shown(get(setting, 'b')),
  ]);
  return rows.length === 0
    ? paragraph('All settings are equal.')
    : grid('Settings that differ', ['Setting', 'A', 'B'], rows);
}

function shown(value: Json): string {
  if (value === null || value === undefined) return '-';
  if (typeof value === 'number') return Number.isInteger(value) ? fixed(value, 0) : String(value);
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function figures(json: Json): HTMLElement {
  const cell = (value: number | undefined, of: (value: number) => string): string =>
    value === undefined ? '-' : of(value);
  const rows = list(json, 'figures').map((figure) => [
    `${truth(figure, 'is_term') ? '\u2003' : ''}${text(figure, 'name') ?? '-'}`,
    text(figure, 'unit') ?? '',
    cell(num(figure, 'a'), threeDigits), cell(num(figure, 'b'), threeDigits),
    cell(num(figure, 'difference'), difference), cell(num(figure, 'percent'), difference),
  ]);
  return grid(
    'Figures of both runs; indented ones are terms of the figure above',
    ['Figure', 'Unit', 'A', 'B', 'B − A', '%'],
    rows,
  );
}

/** Formats a figure with its sign and three digits. */
export function difference(value: number): string {
  const digits = threeDigits(Math.abs(value));
  if (!/[1-9]/.test(digits)) return '0';
  return `${value < 0 ? '-' : '+'}${digits}`;
}

function causeBars(cause: Json): HTMLElement | undefined {
  const terms = list(cause, 'terms').filter((term) => num(term, 'difference_ms') !== undefined);
  const largest = Math.max(...terms.map((term) => Math.abs(num(term, 'difference_ms') ?? 0)), 0);
  const drawn = terms.filter((term) => Math.abs(num(term, 'difference_ms') ?? 0) >= MIN_TERM * largest);
  const whole = num(cause, 'difference_ms');
  if (drawn.length === 0 || largest === 0 || whole === undefined) return undefined;
  const bars = [
    ...drawn.map((term) => [text(term, 'name') ?? '-', num(term, 'difference_ms') ?? 0] as const),
    ['all together', whole] as const,
  ];
  const points = (wanted: (at: number) => boolean): Point[] =>
    bars.flatMap(([, x], y) => (wanted(y) ? [{ x, y }] : []));
  const name = text(cause, 'figure') ?? 'latency';
  return chart({
    title: `${name.charAt(0).toUpperCase()}${name.slice(1)}: B − A is ${difference(whole)} ms`,
    note:
      'To the right B takes longer.' +
      (drawn.length < terms.length ? ` Terms below ${percent(100 * MIN_TERM)} of the largest are left out.` : ''),
    x: { label: 'B − A (ms)', scale: 'linear' },
    y: { label: 'Term', scale: 'band', categories: bars.map(([name]) => name) },
    series: [
      { name: 'terms', mark: 'stack', colour: 0, points: points((at) => at < bars.length - 1) },
      { name: 'all together', mark: 'stack', colour: 'muted', points: points((at) => at === bars.length - 1) },
    ],
    height: 70 + 26 * bars.length,
  });
}
