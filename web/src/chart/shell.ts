import { button, element } from '../data/element.js';
import { plural } from '../data/number.js';
import { save } from '../data/save.js';
import { csv, table, type Column } from '../data/table.js';

/** The parts of a figure around its plot. */
export interface Shell {
  figure: HTMLElement;
  legend: HTMLElement;
  /** Holds the drawing and has the focus. */
  stage: HTMLElement;
  readout: HTMLElement;
  /** Shows whether the plot is zoomed. */
  setZoomed: (isZoomed: boolean) => void;
}

interface Titles {
  title: string;
  note?: string | undefined;
}

export interface Contents extends Titles {
  /** What the plot shows, for screen readers. */
  description: string;
  values: () => { columns: Column[]; rows: number };
  /** Number of rows of the table of values. */
  rows: number;
  svg: () => string;
  /** Undefined for a plot that cannot be zoomed. */
  zoom: { scale: (factor: number) => void; reset: () => void } | undefined;
}

let made = 0;

function caption({ title, note }: Titles): HTMLElement {
  return element(
    'figcaption',
    '',
    element('p', 'title', title),
    ...(note === undefined ? [] : [element('p', 'note', note)]),
  );
}

/** Returns a figure that says that it has nothing to draw. */
export function empty(titles: Titles): HTMLElement {
  return element('figure', 'chart', caption(titles), element('p', '', 'There are no values to draw.'));
}

/** Returns a figure without its drawing. */
export function shell(contents: Contents): Shell {
  const id = `chart-${(made += 1)}`;
  const head = caption(contents);
  head.id = `${id}-title`;
  const legend = element('div', 'legend');
  legend.setAttribute('role', 'group');
  legend.setAttribute('aria-label', 'Series');
  legend.hidden = true;

  const stage = element('div', 'stage');
  stage.tabIndex = 0;
  stage.setAttribute('role', 'application');
  stage.setAttribute('aria-roledescription', 'chart');
  stage.setAttribute('aria-labelledby', head.id);
  stage.setAttribute('aria-describedby', `${id}-help`);
  const help = element('p', 'for-readers', `${contents.description} ${HELP}`);
  help.id = `${id}-help`;

  const readout = element('p', 'readout');
  readout.setAttribute('aria-live', 'polite');
  const zoom = contents.zoom;
  const reset = button('Reset zoom', () => {
    zoom?.reset();
    stage.focus();
  });
  const zooms = zoom && [
    button('+', () => zoom.scale(2), 'Zoom in'),
    button('−', () => zoom.scale(0.5), 'Zoom out'),
    reset,
  ];
  const saves = [
    button('Save SVG', () => save(contents.title, 'svg', contents.svg())),
    button('Save CSV', () => {
      const { columns, rows } = contents.values();
      save(contents.title, 'csv', csv(columns, rows));
    }),
  ];
  const tools = element('div', 'tools', ...(zooms ?? []), ...saves);
  const figure = element(
    'figure',
    'chart',
    head,
    legend,
    help,
    stage,
    element('div', 'foot', readout, tools),
    details(contents),
  );
  return { figure, legend, stage, readout, setZoomed: (isZoomed) => (reset.hidden = !isZoomed) };
}

const HELP = 'Arrow keys read its values and change the series, plus and minus zoom, Escape resets.';

/** The table of values, made when it is opened. */
function details(contents: Contents): HTMLElement {
  const folded = element('details', '', element('summary', '', `Table of values, ${plural(contents.rows, 'row')}`));
  folded.addEventListener('toggle', () => {
    if (!folded.open || folded.childElementCount > 1) return;
    const { columns, rows } = contents.values();
    folded.append(table(contents.title, columns, rows));
  });
  return folded;
}
