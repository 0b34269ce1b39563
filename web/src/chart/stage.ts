import type { Box } from './draw.js';

/** What a plot does with pointers and keys. Positions are px of the plot's drawing. */
export interface Actions {
  plot: () => Box;
  /** Axes along which a drag selects. */
  axes: { x: boolean; y: boolean };
  read: (x: number, y: number) => void;
  leave: () => void;
  /** A drag over a part of the plot. */
  select: (box: Box) => void;
  /** Shows the part of the plot that is being selected. */
  selecting: (box: Box | undefined) => void;
  /** To the next point along the axis, or to its end. */
  step: (by: number) => void;
  /** To the next series or lane. */
  turn: (by: 1 | -1) => void;
  scale: (factor: number) => void;
  reset: () => void;
}

const MIN_DRAG = 5;

/** Makes `stage` answer pointers and keys. */
export function act(stage: HTMLElement, actions: Actions): void {
  let start: { x: number; y: number } | undefined;
  const at = (event: PointerEvent) => {
    const box = stage.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };
  const selected = (event: PointerEvent): Box | undefined => {
    const { x, y } = at(event);
    if (start === undefined) return undefined;
    const plot = actions.plot();
    const isFar =
      (actions.axes.x && Math.abs(x - start.x) >= MIN_DRAG) || (actions.axes.y && Math.abs(y - start.y) >= MIN_DRAG);
    if (!isFar) return undefined;
    const between = (a: number, b: number, low: number, high: number) =>
      [Math.max(low, Math.min(a, b)), Math.min(high, Math.max(a, b))] as const;
    const [left, right] = actions.axes.x ? between(start.x, x, plot.left, plot.right) : [plot.left, plot.right];
    const [top, bottom] = actions.axes.y ? between(start.y, y, plot.top, plot.bottom) : [plot.top, plot.bottom];
    return { left, right, top, bottom };
  };
  stage.addEventListener('pointerdown', (event) => {
    const { x, y } = at(event);
    // A finger reads values as it moves; a mouse selects what to zoom.
    if (event.pointerType === 'mouse' && event.button === 0 && (actions.axes.x || actions.axes.y)) {
      start = { x, y };
      stage.setPointerCapture(event.pointerId);
    }
    actions.read(x, y);
  });
  stage.addEventListener('pointermove', (event) => {
    const { x, y } = at(event);
    actions.selecting(selected(event));
    if (start === undefined) actions.read(x, y);
  });
  stage.addEventListener('pointerup', (event) => {
    const box = selected(event);
    start = undefined;
    actions.selecting(undefined);
    if (box !== undefined && box.right > box.left && box.bottom > box.top) actions.select(box);
  });
  stage.addEventListener('pointercancel', () => {
    start = undefined;
    actions.selecting(undefined);
  });
  stage.addEventListener('pointerleave', (event) => {
    if (event.pointerType === 'mouse' && start === undefined) actions.leave();
  });
  stage.addEventListener('dblclick', actions.reset);
  stage.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const key = keys(actions)[event.key];
    if (key === undefined) return;
    key();
    event.preventDefault();
  });
}

function keys(actions: Actions): Record<string, () => void> {
  return {
    ArrowRight: () => actions.step(1),
    ArrowLeft: () => actions.step(-1),
    PageDown: () => actions.step(10),
    PageUp: () => actions.step(-10),
    Home: () => actions.step(-Infinity),
    End: () => actions.step(Infinity),
    ArrowUp: () => actions.turn(-1),
    ArrowDown: () => actions.turn(1),
    '+': () => actions.scale(2),
    '=': () => actions.scale(2),
    '-': () => actions.scale(0.5),
    Escape: actions.reset,
  };
}
