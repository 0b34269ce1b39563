// A plain web server of a folder, under a sub-path, without special headers.
import { createServer } from 'node:http';
import { readFile } from 'node:fs/promises';
import { extname } from 'node:path';

const TYPES = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css' };

/** Serves `folder` at `prefix`; returns the URL, the paths that were asked for, files to serve instead, and its end. */
export async function serve(folder, prefix = '/some/where/') {
  const asked = [];
  const instead = new Map();
  const server = createServer(async (request, response) => {
    const path = new URL(request.url, 'http://localhost').pathname;
    asked.push(path);
    try {
      if (!path.startsWith(prefix) || path.includes('..')) throw new Error('elsewhere');
      const name = path.slice(prefix.length) || 'index.html';
      const bytes = instead.get(name) ?? (await readFile(folder + name));
      response.writeHead(200, { 'content-type': TYPES[extname(name)] ?? 'application/octet-stream' }).end(bytes);
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${server.address().port}${prefix}`;
  const close = () =>
    new Promise((resolve) => {
      server.close(resolve);
      server.closeAllConnections();
    });
  return { url, asked, instead, close };
}
