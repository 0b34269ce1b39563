import type { Column } from '../data/table.js';
import { endOf, type Lanes } from './lanes.js';
import type { Domain } from './scale.js';
import type { Axis, TimelineSpec } from './spec.js';
import { withUnit } from './values.js';

/** Returns the time from the first start to the last end. */
export function extent(spec: TimelineSpec, { order }: Lanes): Domain {
  const low = spec.starts[order[0] as number] as number;
  const high = order.reduce((end, request) => Math.max(end, endOf(spec, request)), low);
  return [low, high > low ? high : low + 1];
}

/** Duration of each phase of a request. */
function durations(spec: TimelineSpec, request: number): number[] {
  let from = spec.starts[request] ?? NaN;
  return spec.ends.map((ends) => {
    const end = ends[request] ?? NaN;
    const duration = end - from;
    if (Number.isFinite(end)) from = end;
    return duration;
  });
}

/** Reads a request aloud. */
export function reading(spec: TimelineSpec, axis: Axis, request: number): string {
  const group = spec.groups?.[spec.group?.[request] ?? -1];
  const parts = durations(spec, request).map(
    (duration, i) => `${spec.phases[i]?.name ?? ''} ${withUnit(axis, duration)}`,
  );
  const from = `from ${withUnit(axis, spec.starts[request] ?? NaN)}`;
  const detail = spec.detail?.(request);
  return `${spec.label(request)}: ${[group, from, ...parts, detail].filter((part) => part !== undefined).join(', ')}`;
}

/** Returns the columns of the table of values. */
export function columns(spec: TimelineSpec, axis: Axis): Column[] {
  const numeric = (name: string, of: (row: number) => number | undefined): Column => ({
    name,
    isNumber: true,
    value: of,
    text: (row) => withUnit(axis, of(row) ?? NaN),
  });
  const text = (name: string, of: (row: number) => string): Column => ({ name, isNumber: false, value: of, text: of });
  return [
    text('request', spec.label),
    ...(spec.groups === undefined ? [] : [text('group', (row) => spec.groups?.[spec.group?.[row] ?? -1] ?? '')]),
    numeric('start', (row) => spec.starts[row]),
    ...spec.phases.map((phase, i) => numeric(phase.name, (row) => durations(spec, row)[i])),
    numeric('end', (row) => endOf(spec, row)),
  ];
}
