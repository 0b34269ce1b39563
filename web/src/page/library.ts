/** DEV: the C interface by hand, until the package is there. */
type Exports = Record<string, (...args: (number | bigint)[]) => number> & { memory: WebAssembly.Memory };
export class Library {
  private x: Exports;
  constructor(module: WebAssembly.Module) { this.x = new WebAssembly.Instance(module, {}).exports as unknown as Exports; }
  private put(text: string): [number, number] {
    const bytes = new TextEncoder().encode(text);
    const at = this.x.rooflut_wasm_allocate!(bytes.length + 1);
    new Uint8Array(this.x.memory.buffer, at, bytes.length).set(bytes);
    return [at, bytes.length];
  }
  private call(name: string, ...args: (number | bigint)[]): bigint {
    const out = this.x.rooflut_wasm_allocate!(8);
    const error = this.x.rooflut_wasm_allocate!(1024);
    const code = this.x[name]!(...args, out, error);
    if (code !== 0) {
      const bytes = new Uint8Array(this.x.memory.buffer, error + 4, 1020);
      throw new Error(new TextDecoder().decode(bytes.slice(0, bytes.indexOf(0))));
    }
    return new DataView(this.x.memory.buffer).getBigUint64(out, true);
  }
  private text(handle: bigint): string {
    const length = this.x.rooflut_wasm_allocate!(8);
    this.x.rooflut_text_read!(handle, 0, 0, length, 0);
    const n = new DataView(this.x.memory.buffer).getUint32(length, true);
    const at = this.x.rooflut_wasm_allocate!(n);
    this.x.rooflut_text_read!(handle, at, n, length, 0);
    const text = new TextDecoder().decode(new Uint8Array(this.x.memory.buffer, at, n));
    this.x.rooflut_wasm_free!(at, n);
    this.x.rooflut_free!(handle, 0);
    return text;
  }
  private source(toml: string, config: string | undefined): number {
    const at = this.x.rooflut_wasm_allocate!(32);
    const [p, n] = this.put(toml);
    let model = 0n;
    if (config !== undefined) {
      const files = this.x.rooflut_wasm_allocate!(40);
      const [np, nn] = this.put('config.json'); const [cp, cn] = this.put(config);
      const v = new DataView(this.x.memory.buffer);
      [np, nn, cp, cn, 0, 0, 0, 0, 0].forEach((w, i) => v.setUint32(files + 4 * i, w, true));
      model = this.call('rooflut_model_read', files);
    }
    const view = new DataView(this.x.memory.buffer);
    view.setUint32(at, p, true); view.setUint32(at + 4, n, true);
    view.setBigUint64(at + 8, model, true);
    return at;
  }
  names(of: 'model' | 'tables'): string[] { return JSON.parse(this.text(this.call(`rooflut_${of}_names`))); }
  run(toml: string, config: string | undefined): string {
    const scenario = this.call('rooflut_scenario_new', this.source(toml, config));
    try { return this.text(this.call('rooflut_scenario_run', scenario, 0, 0n)); } finally { this.x.rooflut_free!(scenario, 0); }
  }
  fits(toml: string, config: string | undefined, wanted: object): string { return this.text(this.call('rooflut_fits', this.source(toml, config), ...this.put(JSON.stringify(wanted)))); }
  plan(toml: string, config: string | undefined, wanted: object): string { return this.text(this.call('rooflut_plan', this.source(toml, config), ...this.put(JSON.stringify(wanted)), 0n)); }
  sweep(toml: string, config: string | undefined): string { return this.text(this.call('rooflut_sweep', this.source(toml, config), 0n)); }
}
