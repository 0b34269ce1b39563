/** The kernels of a step under the roofs of its GPU. */
import { chart, type Point, type Series } from '../chart/index.js';
import { entries, get, list, num, numbers, text, type Json } from '../data/json.js';
import { fixed, percent, threeDigits } from '../data/number.js';
import { byClass, sourceOf } from './classes.js';
import { absent } from './dom.js';

/** Share of the roof from which on a time counts as that of the roof. */
const AT_ROOF = 0.995;

interface Kernel {
  intensity: number;
  tflops: number;
  json: Json;
}

function kernels(step: Json): Kernel[] {
  return list(step, 'kernels').flatMap((json) => {
    const [flops, bytes, ms] = [num(json, 'flops'), num(json, 'bytes'), num(json, 'ms')];
    if (!flops || !bytes || !ms || flops < 0 || bytes < 0 || ms < 0) return [];
    return [{ intensity: flops / bytes, tflops: flops / ms / 1e9, json }];
  });
}

/** The throughput of each kernel over its arithmetic intensity, under the ceilings of the GPU. */
export function roofline(step: Json): HTMLElement {
  const dots = kernels(step);
  const bandwidth = num(step, 'peaks.mem_bw_bytes_per_s');
  if (dots.length === 0 || !bandwidth) {
    return absent(
      'FLOPs and bytes of the kernels are not in this report.',
      'Make it again with this version of ',
      'rooflut step --json',
    );
  }
  const used = new Set(dots.map(({ json }) => text(json, 'dtype')));
  const peaks = numbers(step, 'peaks.flops_per_s').filter(
    ([dtype, flops]) => flops > 0 && (used.has(dtype) || used.size === 0),
  );
  const ceilings = peaks.length > 0 ? peaks : numbers(step, 'peaks.flops_per_s').slice(0, 1);
  const ridge = Math.max(...ceilings.map(([, flops]) => flops / bandwidth), 1);
  const intensities = dots.map((dot) => dot.intensity);
  const [from, to] = [Math.min(...intensities, 1) / 2, Math.max(...intensities, ridge) * 3];
  const roofs = ceilings.map(([dtype, flops]): Series => ({
    name: `${dtype} ${threeDigits(flops / 1e12)} TFLOP/s`,
    mark: 'line',
    colour: 'muted',
    points: [from, flops / bandwidth, to].map((x) => ({ x, y: Math.min(x * bandwidth, flops) / 1e12 })),
  }));
  const point = ({ intensity, tflops, json }: Kernel): Point => {
    const bound = text(json, 'binding');
    const note = `${fixed(num(json, 'ms') ?? 0, 3)} ms${bound === undefined ? '' : `, bound by ${bound}`}`;
    return { x: intensity, y: tflops, label: label(json), note };
  };
  const series = byClass(dots, ({ json }) => sourceOf(json), 'dots', point);
  const roof = ({ intensity, json }: Kernel): number => {
    const peak = ceilings.find(([dtype]) => dtype === text(json, 'dtype')) ?? ceilings[0];
    return Math.min(intensity * bandwidth, peak?.[1] ?? Infinity) / 1e12;
  };
  return chart({
    title: longest(dots, roof),
    note:
      `Lines: memory bandwidth of ${threeDigits(bandwidth / 1e12)} TB/s and peak of each format. ` +
      'Kernels without FLOPs or bytes, such as those of the host, are left out. ' +
      'Both axes are logarithmic; the colour tells where a time comes from.',
    x: { label: 'Arithmetic intensity (FLOPs per byte of memory traffic)', scale: 'log', domain: [from, to] },
    y: { label: 'Throughput (TFLOP/s)', scale: 'log' },
    series: [...roofs, ...series],
    height: 400,
  });
}

/** Returns what share of its roof the longest kernel reaches, of those whose time is not that of the roof itself. */
function longest(kernels: Kernel[], roof: (kernel: Kernel) => number): string {
  const ms = ({ json }: Kernel): number => num(json, 'ms') ?? 0;
  const looked = kernels.filter((it) => text(it.json, 'class') !== undefined && it.tflops < AT_ROOF * roof(it));
  const [most] = looked.sort((a, b) => ms(b) - ms(a));
  if (!most) return 'Throughput of kernels over arithmetic intensity (TFLOP/s)';
  return `The longest kernel (${label(most.json)}) reaches ${percent((100 * most.tflops) / roof(most))} of its roof`;
}

function label(kernel: Json): string {
  const shape = get(kernel, 'shape');
  const shown =
    typeof shape === 'string'
      ? shape
      : entries(kernel, 'shape')
          .map(([key, value]) => `${key} ${typeof value === 'number' ? fixed(value, 0) : String(value)}`)
          .join(', ');
  const about = [text(kernel, 'operation'), shown].filter(Boolean).join(' ');
  return [text(kernel, 'part'), about].filter(Boolean).join(': ');
}
