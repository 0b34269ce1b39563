/** What the tests of the page's logic import. */
export { Csv } from '../src/data/csv.js';
export { readAddress, writeAddress } from '../src/page/address.js';
export { check } from '../src/page/check.js';
export { fields } from '../src/page/fields.js';
export { factTable } from '../src/page/facts.js';
export { front } from '../src/page/front.js';
export { Loads, loaded } from '../src/page/loads.js';
export { rowOf, sweep } from '../src/page/row.js';
export { Lane, Workers } from '../src/page/lane.js';
export { pasted } from '../src/page/paste.js';
export { questions } from '../src/page/questions.js';
export { positionOf, valueAt } from '../src/page/slide.js';
export { isVllm, vllmScenario, vllmWords } from '../src/page/vllm.js';
export { joinScenario, splitScenario } from '../src/page/toml.js';
