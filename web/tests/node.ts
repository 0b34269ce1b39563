// What runs without a browser.
export { HOSTILE, requests, specs } from './samples.js';
export { coloured, LIGHT } from '../src/chart/palette.js';
export { spread } from '../src/chart/labels.js';
export { pack, endOf } from '../src/chart/lanes.js';
export { raster } from '../src/chart/raster.js';
export { numericScale } from '../src/chart/scale.js';
export { toSvg } from '../src/chart/svg.js';
export { timelineSvg } from '../src/chart/timeline-draw.js';
export * from '../src/data/number.js';
export { csvLine, fileName } from '../src/data/save.js';
