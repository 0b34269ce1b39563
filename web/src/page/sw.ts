/** Keeps the files of the page: those of the first load at once, tables of other GPUs when they are fetched. */

// The service worker's scope; the types of pages know it as Window.
const scope = self as unknown as ServiceWorkerGlobalScope;

/** Name of this version and its files, written by the build. */
declare const VERSION: string;
declare const FILES: string[];

interface ExtendableEvent extends Event {
  waitUntil(work: Promise<unknown>): void;
}

interface FetchEvent extends ExtendableEvent {
  request: Request;
  respondWith(response: Promise<Response>): void;
}

interface ServiceWorkerGlobalScope {
  addEventListener(type: 'install' | 'activate', listen: (event: ExtendableEvent) => void): void;
  addEventListener(type: 'fetch', listen: (event: FetchEvent) => void): void;
  addEventListener(type: 'message', listen: (event: MessageEvent) => void): void;
  skipWaiting(): Promise<void>;
  clients: { claim(): Promise<void> };
  registration: { scope: string };
}

/** Caches belong to the origin, which may have this page in several folders. */
const OWN = `rooflut ${scope.registration.scope} `;
const NAME = OWN + VERSION;

scope.addEventListener('install', (event) => {
  // Not unasked from the browser's cache, which may hold files of another version.
  const files = FILES.map((file) => new Request(file, { cache: 'no-cache' }));
  event.waitUntil(caches.open(NAME).then((cache) => cache.addAll(files)));
});

scope.addEventListener('activate', (event) => {
  const old = (name: string): boolean => name.startsWith(OWN) && name !== NAME;
  const removed = caches.keys().then((names) => Promise.all(names.filter(old).map((name) => caches.delete(name))));
  event.waitUntil(removed.then(() => scope.clients.claim()));
});

scope.addEventListener('message', (event) => {
  if (event.data === 'take over') void scope.skipWaiting();
});

scope.addEventListener('fetch', (event) => {
  const isOwn = new URL(event.request.url).origin === location.origin;
  if (event.request.method === 'GET' && isOwn) event.respondWith(answer(event.request));
});

async function answer(request: Request): Promise<Response> {
  const cache = await caches.open(NAME);
  const kept = await cache.match(request, { ignoreSearch: request.mode === 'navigate' });
  if (kept) return kept;
  const response = await fetch(request);
  if (response.ok && request.url.includes('/tables/')) await cache.put(request, response.clone());
  return response;
}
