/** The form: a control for each setting, with what is wrong about it beside. */
import { h } from '../report/dom.js';
import { check } from './check.js';
import { control, type Control } from './control.js';
import { GROUPS, type Field, type Group, type Settings } from './fields.js';

interface Row {
  field: Field;
  control: Control;
  element: HTMLElement;
  wrong: HTMLElement;
}

export class Form {
  readonly element = h('form', { id: 'settings', 'aria-label': 'Settings' });
  private readonly rows: Row[];
  private settings: Settings = {};

  /** `changed` takes the settings after each change that they allow. */
  constructor(
    fields: Field[],
    private readonly changed: (settings: Settings) => void,
  ) {
    this.rows = fields.map((field) => this.row(field));
    this.element.append(...GROUPS.map((name) => this.group(name)));
    this.element.addEventListener('submit', (event) => event.preventDefault());
    this.set({});
  }

  /** Shows other settings. */
  set(settings: Settings): void {
    this.settings = settings;
    for (const { field, control } of this.rows) control.set(settings[field.key]);
    this.accept();
    this.arrange();
  }

  /** Shows a refusal beside the control of the key that it names first, if there is one. */
  refuse(message: string): void {
    const places = this.rows.map((row): [Row, number] => [
      row,
      message.search(new RegExp(`(^|[^\\w.])${row.field.key}(:| =)`)),
    ]);
    const named = places.filter(([row, at]) => at >= 0 && !row.element.hidden).sort(([, a], [, b]) => a - b)[0];
    if (!named) return;
    const [row] = named;
    mark(row, message);
    row.element.closest('details')?.setAttribute('open', '');
  }

  /** Removes all refusals. */
  accept(): void {
    for (const row of this.rows) mark(row, '');
  }

  private take(row: Row, given: unknown): void {
    const checked = check(row.field, given);
    if ('wrong' in checked) {
      mark(row, checked.wrong);
      return;
    }
    this.accept();
    const { [row.field.key]: _, ...others } = this.settings;
    this.settings = checked.value === undefined ? others : { ...others, [row.field.key]: checked.value };
    this.arrange();
    this.changed(this.settings);
  }

  /** Hides settings without a meaning. */
  private arrange(): void {
    for (const { field, element } of this.rows) element.hidden = field.shown?.(this.settings) === false;
  }

  private row(field: Field): Row {
    const id = `set-${field.key}`;
    const wrong = h('p', { id: `${id}-wrong`, class: 'wrong', role: 'alert' });
    const help = field.help !== undefined && h('p', { id: `${id}-help`, class: 'help' }, field.help);
    const made = control(field, id, (given) => this.take(row, given));
    const label = h(
      field.kind === 'names' ? 'span' : 'label',
      { id: `${id}-label`, class: 'label' },
      field.label,
      field.unit !== undefined && h('span', { class: 'unit' }, ` ${field.unit}`),
    );
    if (label instanceof HTMLLabelElement) label.htmlFor = id;
    made.main.setAttribute('aria-describedby', `${id}-wrong${help ? ` ${id}-help` : ''}`);
    const element = h('div', { class: `setting of-${field.kind}` }, label, ...made.elements, help, wrong);
    const row: Row = { field, control: made, element, wrong };
    return row;
  }

  private group(name: Group): HTMLDetailsElement {
    const rows = this.rows.filter(({ field }) => field.group === name).map(({ element }) => element);
    const group = h(
      'details',
      { class: 'settings' },
      h('summary', {}, name),
      h('div', { role: 'group', 'aria-label': name }, ...rows),
    );
    // A narrow screen has the answers below the form.
    group.open = name !== 'More settings' && (name === 'Load' || matchMedia('(min-width: 64rem)').matches);
    return group;
  }
}

function mark({ control, wrong }: Row, message: string): void {
  wrong.textContent = message;
  if (message === '') control.main.removeAttribute('aria-invalid');
  else control.main.setAttribute('aria-invalid', 'true');
}
