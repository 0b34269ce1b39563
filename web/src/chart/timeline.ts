import { element } from '../data/element.js';
import { selection, type Box } from './draw.js';
import { entry } from './legend.js';
import { endOf, pack, type Lanes } from './lanes.js';
import { alignedMargins, register, setMargins, shownX, zoomX, type Member } from './linked.js';
import { node, toDom, type Node } from './node.js';
import { paintTimeline } from './paint.js';
import { requestAt } from './raster.js';
import { centred, zoomed, type Domain } from './scale.js';
import { empty, shell, type Shell } from './shell.js';
import type { Axis, TimelineSpec } from './spec.js';
import { act } from './stage.js';
import { FONT } from './svg.js';
import { drawTimeline, timelineSvg, type TimelineDrawing } from './timeline-draw.js';
import { columns, extent, reading } from './timeline-values.js';

/** Returns a figure with one bar a request. */
export function timeline(spec: TimelineSpec): HTMLElement {
  const lanes = pack(spec);
  return lanes.order.length > 0 ? new Timeline(spec, lanes).figure : empty(spec);
}

const MIN_WIDTH = 240;

class Timeline implements Member {
  readonly figure: HTMLElement;
  x: Domain | undefined;
  full: Domain | undefined;
  margins = { left: 0, right: 0 };
  private y: Domain | undefined;
  private width = 0;
  private drawing: TimelineDrawing | undefined;
  private focus: number | undefined;
  /** Phases that the legend hides. */
  private readonly hidden = new Set<number>();
  private readonly shell: Shell;
  private readonly axis: Axis;
  private readonly canvas = element('canvas', '');
  private readonly over = toDom(node('svg', { 'aria-hidden': 'true', class: 'over' }));

  constructor(private readonly spec: TimelineSpec, private readonly lanes: Lanes) {
    this.axis = { ...spec.x, scale: 'linear' };
    this.full = spec.x.domain ?? extent(spec, lanes);
    const zoom = { scale: (factor: number) => this.scale(factor), reset: () => this.reset() };
    this.shell = shell({
      title: spec.title,
      note: spec.note,
      description: `Requests as bars over ${spec.x.label}.`,
      values: () => ({ columns: columns(spec, this.axis), rows: spec.starts.length }),
      rows: spec.starts.length,
      svg: () => timelineSvg(spec, lanes, Math.max(this.width, 640), this.view()),
      zoom,
    });
    this.figure = this.shell.figure;
    this.legend();
    act(this.shell.stage, {
      plot: () => this.plot(),
      axes: { x: true, y: true },
      read: (x, y) => this.point(this.at(x, y)),
      leave: () => this.point(undefined),
      select: (box) => this.select(box),
      selecting: (box) => this.overlay(box),
      step: (by) => this.step(by),
      turn: (by) => this.turn(by),
      ...zoom,
    });
    register(this.figure, this);
    new ResizeObserver(() => this.resize()).observe(this.shell.stage);
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.redraw());
  }

  redraw(): void {
    if (this.width === 0) return;
    const { width } = this;
    const drawing = drawTimeline(this.spec, this.lanes, this.view());
    this.drawing = drawing;
    setMargins(this, drawing.margins);
    const size = { width, height: drawing.height, viewBox: `0 0 ${width} ${drawing.height}` };
    const svg = toDom(
      node('svg', { ...size, 'aria-hidden': 'true', 'font-family': FONT, 'font-size': 13 }, ...drawing.axes),
    );
    for (const [name, value] of Object.entries(size)) this.over.setAttribute(name, String(value));
    paintTimeline(this.canvas, this.figure, this.spec, this.lanes, drawing, { width, hidden: this.hidden });
    this.shell.stage.replaceChildren(this.canvas, svg, this.over);
    this.shell.setZoomed(this.x !== undefined || this.y !== undefined);
    this.overlay();
  }

  private view() {
    const x = shownX(this) ?? this.full ?? [0, 1];
    return { width: this.width, x, y: this.y ?? this.allLanes(), margins: alignedMargins(this), hidden: this.hidden };
  }

  private allLanes(): Domain {
    return [0, Math.max(1, this.lanes.lanes.length)];
  }

  private plot(): Box {
    return this.drawing?.plot ?? { left: 0, top: 0, right: 0, bottom: 0 };
  }

  private resize(): void {
    const width = Math.max(MIN_WIDTH, Math.floor(this.shell.stage.clientWidth));
    if (width === this.width) return;
    this.width = width;
    this.redraw();
  }

  private legend(): void {
    for (const [i, phase] of this.spec.phases.entries()) {
      const fill = `@${typeof phase.colour === 'number' ? `c${phase.colour}` : phase.colour}`;
      const sample = node(
        'svg',
        { width: 14, height: 14, viewBox: '0 0 14 14', 'aria-hidden': 'true' },
        node('rect', { width: 14, height: 14, fill }),
      );
      this.shell.legend.append(entry(phase.name, toDom(sample), i, this.hidden, () => this.redraw()));
    }
    this.shell.legend.hidden = false;
    this.shell.legend.setAttribute('aria-label', 'Phases');
  }

  private at(x: number, y: number): number | undefined {
    const { drawing } = this;
    return drawing && requestAt(this.spec, this.lanes.lanes[Math.floor(drawing.y.of(y))], drawing.x.of(x));
  }

  private point(request: number | undefined): void {
    this.focus = request;
    this.overlay();
  }

  /** The bar of a request in px. */
  private bar(request: number): Box | undefined {
    const { drawing } = this;
    const lane = this.lanes.laneOf[request];
    if (drawing === undefined || lane === undefined || lane < 0) return undefined;
    return {
      left: drawing.x.at(this.spec.starts[request] as number),
      right: drawing.x.at(endOf(this.spec, request)),
      top: drawing.y.at(lane),
      bottom: drawing.y.at(lane + 1),
    };
  }

  private overlay(selected?: Box): void {
    const { focus } = this;
    this.shell.readout.textContent = focus === undefined ? '' : reading(this.spec, this.axis, focus);
    const bar = focus === undefined ? undefined : this.bar(focus);
    const { left, right, top, bottom } = this.plot();
    const nodes: Node[] = [];
    if (selected !== undefined) {
      nodes.push(selection(selected));
    } else if (bar !== undefined) {
      const x = Math.max(left, bar.left) - 2;
      const y = Math.max(top, bar.top) - 2;
      const width = Math.min(right, bar.right) - x + 2;
      const height = Math.min(bottom, bar.bottom) - y + 2;
      if (width > 0 && height > 0)
        nodes.push(node('rect', { x, y, width, height, fill: 'none', stroke: '@ink', 'stroke-width': 2 }));
    }
    this.over.replaceChildren(...nodes.map(toDom));
  }

  /** Moves by arrival, over all lanes. */
  private step(by: number): void {
    const { order, laneOf } = this.lanes;
    const { focus } = this;
    const { left, right, top, bottom } = this.plot();
    if (focus === undefined && Number.isFinite(by)) {
      const inView = order.find((request) => {
        const bar = this.bar(request);
        return bar !== undefined && bar.right > left && bar.left < right && bar.bottom > top && bar.top < bottom;
      });
      return this.focusOn(inView ?? order[0]);
    }
    const lane = focus === undefined ? undefined : this.lanes.lanes[laneOf[focus] ?? -1];
    const row = Number.isFinite(by) && lane !== undefined ? lane : order;
    const from = focus === undefined ? 0 : row.indexOf(focus);
    this.focusOn(row[Math.max(0, Math.min(row.length - 1, from + by))]);
  }

  /** Moves to the next lane that has requests, at the same time. */
  private turn(by: 1 | -1): void {
    const { focus } = this;
    if (focus === undefined) return this.step(0);
    const { lanes, laneOf } = this.lanes;
    let lane = (laneOf[focus] ?? 0) + by;
    while (lanes[lane]?.length === 0) lane += by;
    const next = requestAt(this.spec, lanes[lane], this.spec.starts[focus] as number);
    if (next !== undefined) this.focusOn(next);
  }

  /** Focuses a request and moves the zoomed part so that it contains its start. */
  private focusOn(request: number | undefined): void {
    this.focus = request;
    const bar = request === undefined ? undefined : this.bar(request);
    const { drawing } = this;
    if (bar === undefined || drawing === undefined) return this.overlay();
    const { left, right, top, bottom } = drawing.plot;
    const isOutX = bar.left < left - 1 || bar.left > right;
    const isOutY = bar.top < top - 1 || bar.bottom > bottom + 1;
    if (isOutY) this.y = this.within(centred(drawing.y, bar.top, [top, bottom]));
    if (isOutX) zoomX(this, centred(drawing.x, bar.left, [left, right]));
    else if (isOutY) this.redraw();
    else this.overlay();
  }

  private select(box: Box): void {
    const { drawing } = this;
    if (drawing === undefined) return;
    const { top, bottom } = drawing.plot;
    // A drag along the time axis keeps the lanes.
    if (box.bottom - box.top > 0.15 * (bottom - top))
      this.y = this.within([drawing.y.of(box.top), drawing.y.of(box.bottom)]);
    zoomX(this, [drawing.x.of(box.left), drawing.x.of(box.right)]);
  }

  private scale(factor: number): void {
    const { drawing } = this;
    if (drawing === undefined) return;
    const { left, right, top, bottom } = drawing.plot;
    const bar = this.focus === undefined ? undefined : this.bar(this.focus);
    const at = { x: bar?.left ?? (left + right) / 2, y: bar?.top ?? (top + bottom) / 2 };
    this.y = this.within(zoomed(drawing.y, at.y, [top, bottom], factor));
    zoomX(this, zoomed(drawing.x, at.x, [left, right], factor));
  }

  /** Keeps a window of lanes among those that there are, undefined for all. */
  private within([from, to]: Domain): Domain | undefined {
    const all = this.allLanes()[1];
    const size = Math.max(1, to - from);
    if (size >= all) return undefined;
    const first = Math.max(0, Math.min(all - size, from));
    return [first, first + size];
  }

  private reset(): void {
    this.y = undefined;
    zoomX(this, undefined);
  }
}
