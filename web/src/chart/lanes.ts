import type { TimelineSpec } from './spec.js';

/** Requests packed into lanes in which they do not overlap. */
export interface Lanes {
  /** Requests of each lane by time. Lanes between groups are empty. */
  lanes: Uint32Array[];
  /** Lane of each request, -1 for one without a finite start. */
  laneOf: Int32Array;
  /** First lane and number of lanes of each group. */
  groups: { name: string; first: number; count: number }[];
  /** Requests by start. */
  order: Uint32Array;
}

/** Returns when the last phase of a request ends. */
export function endOf(spec: TimelineSpec, request: number): number {
  let end = spec.starts[request] ?? NaN;
  for (const ends of spec.ends) {
    const at = ends[request];
    if (at !== undefined && Number.isFinite(at) && at > end) end = at;
  }
  return end;
}

/** Puts each request into the first free lane of its group, in the order of their starts. */
export function pack(spec: TimelineSpec): Lanes {
  const { starts } = spec;
  const order = Uint32Array.from({ length: starts.length }, (_, i) => i)
    .filter((i) => Number.isFinite(starts[i]))
    .sort((a, b) => (starts[a] as number) - (starts[b] as number) || a - b);
  const names = spec.groups ?? [''];
  const packed = names.map((_, g) => packGroup(spec, order.filter((i) => (spec.group?.[i] ?? 0) === g)));
  const used = packed.filter((lanes) => lanes.length > 0).length;
  const total = packed.reduce((sum, lanes) => sum + lanes.length, 0);
  const gap = used > 1 ? Math.max(1, Math.round(total * 0.02)) : 0;
  const result: Lanes = { lanes: [], laneOf: new Int32Array(starts.length).fill(-1), groups: [], order };
  packed.forEach((lanes, g) => {
    if (lanes.length === 0) return;
    if (result.lanes.length > 0) result.lanes.push(...Array.from({ length: gap }, () => new Uint32Array()));
    result.groups.push({ name: names[g] ?? '', first: result.lanes.length, count: lanes.length });
    for (const lane of lanes) {
      for (const request of lane) result.laneOf[request] = result.lanes.length;
      result.lanes.push(Uint32Array.from(lane));
    }
  });
  return result;
}

function packGroup(spec: TimelineSpec, order: Uint32Array): number[][] {
  const lanes: number[][] = [];
  const free = new Heap();
  const busy = new Heap();
  for (const request of order) {
    const start = spec.starts[request] as number;
    while (busy.least() <= start) {
      const lane = busy.pop();
      free.push(lane, lane);
    }
    const lane = free.size > 0 ? free.pop() : lanes.push([]) - 1;
    lanes[lane]?.push(request);
    busy.push(endOf(spec, request), lane);
  }
  return lanes;
}

/** A binary heap of values, the one with the least key first. */
class Heap {
  private readonly items: [number, number][] = [];

  get size(): number {
    return this.items.length;
  }

  least(): number {
    return this.items[0]?.[0] ?? Infinity;
  }

  push(key: number, value: number): void {
    let at = this.items.push([key, value]) - 1;
    while (at > 0) {
      const above = (at - 1) >> 1;
      if (this.key(above) <= this.key(at)) return;
      this.swap(above, at);
      at = above;
    }
  }

  pop(): number {
    this.swap(0, this.items.length - 1);
    const [, value] = this.items.pop() as [number, number];
    for (let at = 0; ; ) {
      const [left, right] = [2 * at + 1, 2 * at + 2];
      const least = this.key(right) < this.key(left) ? right : left;
      if (this.key(least) >= this.key(at)) return value;
      this.swap(least, at);
      at = least;
    }
  }

  private key(at: number): number {
    return this.items[at]?.[0] ?? Infinity;
  }

  private swap(a: number, b: number): void {
    [this.items[a], this.items[b]] = [this.items[b] as [number, number], this.items[a] as [number, number]];
  }
}

/** Returns the position in a lane of the first request that ends after `time`. */
export function firstAfter(spec: TimelineSpec, lane: Uint32Array, time: number): number {
  let [low, high] = [0, lane.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (endOf(spec, lane[middle] as number) > time) high = middle;
    else low = middle + 1;
  }
  return low;
}
