// node shot.tmp.mjs OUT WIDTH SCHEME TAB(s) JSONsettings
import { browser } from './tests/harness.mjs';
import { serve } from './tests/serve.mjs';
const [out, width, scheme, tabs, settings='{}', wait='front'] = process.argv.slice(2);
const s = await serve(new URL('dist/page/', import.meta.url).pathname);
const b = await browser();
const c = await b.newContext({ viewport: { width: Number(width), height: 900 }, colorScheme: scheme });
const p = await c.newPage();
p.on('console', m => console.log(m.type(), m.text())); p.on('pageerror', e => console.log(String(e)));
await p.goto(s.url); await p.waitForSelector('.summary .answer');
for (const [k,v] of Object.entries(JSON.parse(settings))) {
  const e = p.locator('#set-'+k); await e.evaluate(x=>x.closest('details').setAttribute('open',''));
  await ((await e.evaluate(x=>x.tagName))==='SELECT'? e.selectOption(v): e.fill(v)); await e.dispatchEvent('change'); }
await p.waitForTimeout(500);
const t=Date.now();
for (const id of wait.split(',')) await p.waitForSelector(`#${id}:not([aria-busy])`, {state:'attached', timeout: 120000}).catch(e=>console.log('still busy', id));
console.log('waited', Date.now()-t);
for (const id of tabs.split(',')) { await p.click(`#${id}-tab`); await p.waitForTimeout(1200); await p.screenshot({ path: `${out}-${id}-${width}-${scheme}.png`, fullPage: true }); }
await b.close(); await s.close();
