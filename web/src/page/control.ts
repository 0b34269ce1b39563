/** Controls of the form, one for each kind of setting. */
import { h } from '../report/dom.js';
import type { ChoiceField, Field, LengthField, NamesField, NumberField, TextField, Value } from './fields.js';
import { POSITIONS, positionOf, valueAt } from './slide.js';

/** What stands beside the label of a setting. */
export interface Control {
  elements: HTMLElement[];
  /** The element with the label, which may be marked as wrong. */
  main: HTMLElement;
  set(value: Value | undefined): void;
}

/** Takes what a control holds, of any type: the checks of settings decide. */
type Take = (given: unknown) => void;

export function control(field: Field, id: string, take: Take): Control {
  switch (field.kind) {
    case 'number':
    case 'length':
      return typed(field, id, take);
    case 'choice':
      return choice(field, id, take);
    case 'text':
      return text(field, id, take);
    case 'switch':
      return toggle(id, take);
    case 'names':
      return names(field, id, take);
  }
}

/** A number as text, with a slider where it has a range. */
function typed(field: NumberField | LengthField, id: string, take: Take): Control {
  const isLength = field.kind === 'length';
  const input = h('input', {
    id,
    type: 'text',
    inputmode: isLength ? 'text' : 'decimal',
    autocomplete: 'off',
    spellcheck: 'false',
  });
  const range = field.slider;
  const slider =
    range && h('input', { type: 'range', min: '0', max: String(POSITIONS), 'aria-label': `${field.label}, slider` });
  const slide = (value: Value): void => {
    const number = Number(String(value).replaceAll('_', ''));
    slider?.setAttribute('aria-valuetext', `${value} ${field.unit ?? ''}`.trim());
    if (range && slider && Number.isFinite(number)) slider.value = String(positionOf(number, range));
  };
  input.addEventListener('input', () => {
    slide(input.value);
    take(input.value);
  });
  slider?.addEventListener('input', () => {
    const value = valueAt(slider.valueAsNumber, range as [number, number], isLength || field.whole === true);
    input.value = String(value);
    slider.setAttribute('aria-valuetext', `${value} ${field.unit ?? ''}`.trim());
    take(isLength ? String(value) : value);
  });
  const set = (value: Value | undefined): void => {
    const shown = value ?? field.initial;
    input.value = String(shown ?? '');
    if (shown === undefined) input.placeholder = 'default';
    else slide(shown);
  };
  return { elements: slider ? [input, slider] : [input], main: input, set };
}

function choice(field: ChoiceField, id: string, take: Take): Control {
  const select = h('select', { id }, ...field.options.map(([value, label]) => h('option', { value }, label)));
  select.addEventListener('input', () => take(select.value));
  return {
    elements: [select],
    main: select,
    set: (value) => {
      select.value = String(value ?? field.initial);
    },
  };
}

function text(field: TextField, id: string, take: Take): Control {
  const input =
    field.lines === undefined
      ? h('input', { id, type: 'text', autocomplete: 'off', spellcheck: 'false' })
      : h('textarea', { id, rows: String(field.lines), spellcheck: 'false' });
  const elements: HTMLElement[] = [input];
  if (field.suggestions) {
    input.setAttribute('list', `${id}-list`);
    elements.push(h('datalist', { id: `${id}-list` }, ...field.suggestions.map((value) => h('option', { value }))));
  }
  // A name is taken when it is whole; a suggestion that is chosen is.
  input.addEventListener('input', () => {
    if (field.lines !== undefined || field.suggestions?.includes(input.value)) take(input.value);
  });
  input.addEventListener('change', () => take(input.value));
  return {
    elements,
    main: input,
    set: (value) => {
      input.value = String(value ?? field.initial);
    },
  };
}

function toggle(id: string, take: Take): Control {
  const input = h('input', { id, type: 'checkbox' });
  input.addEventListener('input', () => take(input.checked));
  return {
    elements: [input],
    main: input,
    set: (value) => {
      input.checked = value === true;
    },
  };
}

function names(field: NamesField, id: string, take: Take): Control {
  const boxes = field.options.map((name) => h('input', { type: 'checkbox', value: name }));
  const group = h(
    'div',
    { id, class: 'names', role: 'group', 'aria-labelledby': `${id}-label` },
    ...boxes.map((box) => h('label', {}, box, box.value)),
  );
  group.addEventListener('input', () => take(boxes.filter((box) => box.checked).map((box) => box.value)));
  const set = (value: Value | undefined): void => {
    for (const box of boxes) box.checked = Array.isArray(value) && value.includes(box.value);
  };
  return { elements: [group], main: group, set };
}
