/** Starts the page, or says what it needs. */
import { h } from '../report/dom.js';
import { App } from './app.js';
import { Lane, Workers } from './lane.js';
import { offline } from './offline.js';
import type { Catalogue } from './fields.js';

async function start(page: HTMLElement): Promise<void> {
  const needed = missing();
  if (needed !== undefined) {
    say(page, needed);
    return;
  }
  try {
    const workers = new Workers('worker.js', await compiled('rooflut.wasm'), () =>
      compiled('rooflut.rest.wasm', { priority: 'low' }),
    );
    const first = new Lane(workers);
    new App(await catalogue(first), first, workers).start(page);
  } catch (error) {
    say(
      page,
      `The simulator could not be started: ${(error as Error).message}. ` +
        'Put the whole folder of this page on the server, and load it again.',
    );
    return;
  }
  offline(document.body);
}

/** Returns what this browser or place lacks. */
function missing(): string | undefined {
  if (location.protocol === 'file:') {
    return (
      'This page was opened as a file, and needs a web server: run "python3 -m http.server" in its folder, ' +
      'and open http://localhost:8000/.'
    );
  }
  if (typeof WebAssembly === 'undefined')
    return 'This page needs WebAssembly, which this browser lacks or has switched off.';
  if (typeof CompressionStream === 'undefined')
    return 'This page needs compression streams: a browser of 2023 or later.';
  return undefined;
}

async function compiled(file: string, options?: RequestInit): Promise<WebAssembly.Module> {
  const response = await fetch(file, options);
  if (!response.ok) throw new Error(`${file}: ${response.status} ${response.statusText}`);
  // Not every server knows the type, without which a browser does not compile while the file comes.
  const isTyped = response.headers.get('content-type')?.startsWith('application/wasm') ?? false;
  return isTyped ? WebAssembly.compileStreaming(response) : WebAssembly.compile(await response.arrayBuffer());
}

function catalogue(lane: Lane): Promise<Catalogue> {
  return new Promise((resolve, reject) => {
    lane.ask(
      { kind: 'catalogue' },
      {
        part: (part) => {
          if (part.part === 'catalogue') resolve(part.catalogue);
          if (part.part === 'refused') reject(new Error(part.message));
        },
        done: () => {},
      },
    );
  });
}

function say(page: HTMLElement, words: string): void {
  page.replaceChildren(h('p', { class: 'absent', role: 'alert' }, words));
}

const page = document.querySelector('main');
if (page) void start(page);
