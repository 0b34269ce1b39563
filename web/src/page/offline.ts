/** The second visit works without a network, and updates are announced. */
import { button } from '../data/element.js';
import { h } from '../report/dom.js';

/** Keeps the page for later visits, where the browser allows it. */
export function offline(body: HTMLElement): void {
  if (!('serviceWorker' in navigator)) return;
  const isUpdate = navigator.serviceWorker.controller !== null;
  navigator.serviceWorker.register('sw.js').then(
    (registration) => {
      const watch = (worker: ServiceWorker | null): void => {
        worker?.addEventListener('statechange', () => {
          if (worker.state === 'installed' && isUpdate) announce(body, worker);
        });
      };
      if (registration.waiting && isUpdate) announce(body, registration.waiting);
      registration.addEventListener('updatefound', () => watch(registration.installing));
    },
    () => {
      // Storage is switched off or full: the page works, with a network.
    },
  );
}

function announce(body: HTMLElement, waiting: ServiceWorker): void {
  const load = button('Load it', () => {
    navigator.serviceWorker.addEventListener('controllerchange', () => location.reload(), { once: true });
    waiting.postMessage('take over');
  });
  body.append(
    h('div', { class: 'update', role: 'status' }, h('span', {}, 'A new version of this page is ready. '), load),
  );
}
