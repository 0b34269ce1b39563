/** Returns an element with a class and children; text stays text. */
export function element<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  className: string,
  ...children: (Element | string)[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  if (className !== '') made.className = className;
  made.append(...children);
  return made;
}

/** Returns a button that calls `act`. */
export function button(text: string, act: () => void, label?: string): HTMLButtonElement {
  const made = element('button', '', text);
  made.type = 'button';
  if (label !== undefined) made.setAttribute('aria-label', label);
  made.addEventListener('click', act);
  return made;
}
