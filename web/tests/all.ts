export { specs, requests } from './samples.js';
export { toSvg } from '../src/chart/svg.js';
export * from '../src/data/number.js';
