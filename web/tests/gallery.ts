// One chart of each kind, with made-up values.
import { chart, linked, timeline } from '../src/chart/index.js';
import { element } from '../src/data/element.js';
import { specs, requests } from './samples.js';

const main = element('main', '', element('h1', '', 'Gallery'));
document.body.append(main);
const figures = new Map(Object.entries(specs()).map(([id, spec]) => [id, chart(spec)]));
for (const [id, figure] of figures) {
  figure.id = id;
  main.append(figure);
}
const time = timeline(requests(Number(new URLSearchParams(location.search).get('requests') ?? 3000)));
time.id = 'timeline';
main.append(time);
const { lines } = specs();
if (lines !== undefined) main.append(chart({ ...lines, series: [{ name: 'none', mark: 'line', points: [{ x: 1, y: NaN }] }] }));
main.append(timeline(requests(0)));
linked([figures.get('queue'), figures.get('running')].filter((figure) => figure !== undefined));
