import { element } from '../data/element.js';
import { draw, heightOf, selection, type Box, type Drawing } from './draw.js';
import { domainOf } from './frame.js';
import { entry } from './legend.js';
import { alignedMargins, register, setMargins, shownX, zoomX, type Member } from './linked.js';
import { node, toDom, type Node } from './node.js';
import { paintDense } from './paint.js';
import { isHorizontal, stackBases, type Placed } from './place.js';
import { centred, limited, zoomed, type Domain } from './scale.js';
import { empty, shell } from './shell.js';
import type { ChartSpec } from './spec.js';
import { act } from './stage.js';
import { FONT, layers, swatch, toSvg } from './svg.js';
import { reading, values } from './values.js';

/** Returns a figure that draws `spec` at the width that it is given. */
export function chart(spec: ChartSpec): HTMLElement {
  const isUsable = spec.series.some((series) =>
    series.points.some((point) => Number.isFinite(point.x) && Number.isFinite(point.y)),
  );
  return isUsable ? new Chart(spec).figure : empty(spec);
}

const MIN_WIDTH = 240;

class Chart implements Member {
  readonly figure: HTMLElement;
  x: Domain | undefined;
  full: Domain | undefined;
  margins = { left: 0, right: 0 };
  private y: Domain | undefined;
  private width = 0;
  private drawing: Drawing | undefined;
  private focus: { series: number; index: number } | undefined;
  private readonly hidden = new Set<number>();
  private readonly shell;
  private readonly canvas = element('canvas', '');
  private readonly over = toDom(node('svg', { 'aria-hidden': 'true', class: 'over' }));
  private readonly zooms: { x: boolean; y: boolean };

  constructor(private readonly spec: ChartSpec) {
    const areDots = spec.series.every((series) => series.mark === 'dots');
    const isNumeric = spec.x.scale !== 'band' && spec.y.scale !== 'band';
    this.zooms = { x: isNumeric, y: isNumeric && areDots };
    if (isNumeric) {
      const visible = spec.series.map(() => true);
      this.full = domainOf(spec, 'x', spec.series, stackBases(spec, visible));
    }
    const table = values(spec);
    const lies = isHorizontal(spec);
    this.shell = shell({
      title: spec.title,
      note: spec.note,
      description: `${spec.y.label} against ${spec.x.label}.`,
      values: () => table,
      rows: table.rows,
      svg: () => toSvg(spec, Math.max(this.width, 640), this.view()),
      zoom: isNumeric ? { scale: (factor) => this.scale(factor), reset: () => this.reset() } : undefined,
    });
    this.figure = this.shell.figure;
    this.legend();
    act(this.shell.stage, {
      plot: () => this.plot(),
      axes: this.zooms,
      read: (x, y) => this.read(x, y),
      leave: () => this.point(undefined),
      select: (box) => this.select(box),
      selecting: (box) => this.overlay(box),
      // Lying bars are below each other.
      step: (by) => (lies && (by === 1 || by === -1) ? this.turn(by) : this.step(by)),
      turn: (by) => (lies ? this.step(by) : this.turn(by)),
      scale: (factor) => this.scale(factor),
      reset: () => this.reset(),
    });
    register(this.figure, this);
    new ResizeObserver(() => this.resize()).observe(this.shell.stage);
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.redraw());
  }

  redraw(): void {
    if (this.width === 0) return;
    const drawing = draw(this.spec, this.view());
    this.drawing = drawing;
    setMargins(this, drawing.margins);
    const { width } = this;
    const height = heightOf(this.spec);
    const size = { width, height, viewBox: `0 0 ${width} ${height}` };
    const svg = toDom(
      node(
        'svg',
        { ...size, 'aria-hidden': 'true', 'font-family': FONT, 'font-size': 13 },
        ...layers({ ...drawing, marks: { ...drawing.marks, dense: [] } }),
      ),
    );
    for (const [name, value] of Object.entries(size)) this.over.setAttribute(name, String(value));
    const isDense = drawing.marks.dense.length > 0;
    if (isDense) paintDense(this.canvas, this.figure, drawing, width, height);
    this.shell.stage.replaceChildren(...(isDense ? [this.canvas] : []), svg, this.over);
    this.shell.legend.hidden = drawing.isLabelled || this.spec.series.length < 2;
    this.shell.setZoomed(this.x !== undefined || this.y !== undefined);
    this.overlay();
  }

  private view() {
    const x = shownX(this);
    return {
      width: this.width,
      height: heightOf(this.spec),
      x,
      y: this.y,
      hidden: this.hidden,
      margins: alignedMargins(this),
    };
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
    this.spec.series.forEach((series, i) => {
      const sample = toDom(
        node('svg', { width: 24, height: 14, viewBox: '0 -7 24 14', 'aria-hidden': 'true' }, ...swatch(series, i)),
      );
      const changed = (): void => {
        this.point(undefined);
        this.redraw();
      };
      this.shell.legend.append(entry(series.name, sample, i, this.hidden, changed));
    });
  }

  /** Focuses the point next to a place: dots by distance, others first by their position along the axis. */
  private read(x: number, y: number): void {
    const weight = this.zooms.y ? { x: 1, y: 1 } : isHorizontal(this.spec) ? { x: 0.05, y: 1 } : { x: 1, y: 0.05 };
    const { left, right, top, bottom } = this.plot();
    let nearest: Placed | undefined;
    let least = Infinity;
    for (const place of this.drawing?.placed ?? []) {
      if (place.x < left - 1 || place.x > right + 1 || place.y < top - 1 || place.y > bottom + 1) continue;
      const far = ((place.x - x) * weight.x) ** 2 + ((place.y - y) * weight.y) ** 2;
      if (far >= least) continue;
      nearest = place;
      least = far;
    }
    this.point(nearest);
  }

  private point(place: { series: number; index: number } | undefined): void {
    this.focus = place && { series: place.series, index: place.index };
    this.overlay();
  }

  private focused(): Placed | undefined {
    const { focus } = this;
    return focus && this.drawing?.placed.find((place) => place.series === focus.series && place.index === focus.index);
  }

  private overlay(selected?: Box): void {
    const at = this.focused();
    this.shell.readout.textContent = at === undefined ? '' : reading(this.spec, at, this.drawing?.placed ?? []);
    const nodes: Node[] = [];
    const { left, right, top, bottom } = this.plot();
    if (selected !== undefined) {
      nodes.push(selection(selected));
    } else if (at !== undefined) {
      const lines = isHorizontal(this.spec)
        ? `M${left} ${at.y}H${right}`
        : `M${at.x} ${top}V${bottom}${this.zooms.y ? `M${left} ${at.y}H${right}` : ''}`;
      nodes.push(
        node('path', { d: lines, stroke: '@faint', 'stroke-width': 1, 'stroke-dasharray': '1 3', fill: 'none' }),
      );
      nodes.push(node('circle', { cx: at.x, cy: at.y, r: 5.5, fill: 'none', stroke: '@ink', 'stroke-width': 2 }));
    }
    this.over.replaceChildren(...nodes.map(toDom));
  }

  /** Points of the focused series, or of the first visible one, in the order of the axis. */
  private row(): Placed[] {
    const all = this.drawing?.placed ?? [];
    const series = this.focused()?.series ?? all[0]?.series;
    const along = isHorizontal(this.spec) ? 'y' : 'x';
    return all.filter((place) => place.series === series).sort((a, b) => a[along] - b[along]);
  }

  private step(by: number): void {
    const row = this.row();
    const focused = this.focused();
    const from = row.findIndex((place) => place.index === focused?.index);
    const to = from < 0 && Number.isFinite(by) ? this.firstInView(row) : from + by;
    const target = row[Math.max(0, Math.min(row.length - 1, to))];
    this.reveal(target);
    this.point(target);
  }

  private firstInView(row: Placed[]): number {
    return Math.max(0, row.findIndex((place) => place.x >= this.plot().left - 1));
  }

  /** Moves to the nearest point of the next visible series. */
  private turn(by: 1 | -1): void {
    const all = this.drawing?.placed ?? [];
    const shown = [...new Set(all.map((place) => place.series))];
    const focused = this.focused();
    if (focused === undefined || shown.length === 1) return this.step(focused === undefined ? 0 : by);
    const next = shown[(shown.indexOf(focused.series) + by + shown.length) % shown.length];
    const along = isHorizontal(this.spec) ? 'y' : 'x';
    const near = all.filter((place) => place.series === next);
    const target = near.reduce((best, place) =>
      Math.abs(place[along] - focused[along]) < Math.abs(best[along] - focused[along]) ? place : best,
    );
    this.point(target);
  }

  /** Moves the zoomed part so that it contains `place`. */
  private reveal(place: Placed | undefined): void {
    const { drawing } = this;
    if (place === undefined || drawing === undefined || shownX(this) === undefined) return;
    const { left, right, top, bottom } = drawing.plot;
    const isOutX = place.x < left - 1 || place.x > right + 1;
    const isOutY = this.y !== undefined && (place.y < top - 1 || place.y > bottom + 1);
    if (isOutY) this.y = centred(drawing.y, place.y, [bottom, top]);
    if (isOutX) zoomX(this, centred(drawing.x, place.x, [left, right]));
    else if (isOutY) this.redraw();
  }

  private select(box: Box): void {
    const { drawing } = this;
    if (drawing === undefined) return;
    if (this.zooms.y) this.y = limited([drawing.y.of(box.bottom), drawing.y.of(box.top)], drawing.fullY, this.y);
    zoomX(this, [drawing.x.of(box.left), drawing.x.of(box.right)]);
  }

  /** Zooms around the focused point, or around the middle. */
  private scale(factor: number): void {
    const { drawing } = this;
    if (drawing === undefined || !this.zooms.x) return;
    const { left, right, top, bottom } = drawing.plot;
    const at = this.focused() ?? { x: (left + right) / 2, y: (top + bottom) / 2 };
    if (this.zooms.y) this.y = limited(zoomed(drawing.y, at.y, [bottom, top], factor), drawing.fullY, this.y);
    zoomX(this, zoomed(drawing.x, at.x, [left, right], factor));
  }

  private reset(): void {
    this.y = undefined;
    zoomX(this, undefined);
  }
}
