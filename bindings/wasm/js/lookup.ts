import { u32, u64 } from "./value.js";
import type { Owned } from "./owned.js";

/** The time of a kernel and its provenance. */
export interface Estimate {
  seconds: number;
  /** Model FLOPs utilization, 0 to 1. */
  mfu: number;
  /** `measured`, `interpolated`, ... */
  class: string;
  /** Whether the query lies outside of the measured axes. */
  isOutside: boolean;
}

/** A kernel of a table set. */
export class Lookup {
  readonly #lookup: Owned;

  /** @internal */
  constructor(lookup: Owned) {
    this.#lookup = lookup;
  }

  /** Returns the time of the kernel; `size` and `batch` mean what `rooflut_lookup_at` of the C interface says. */
  at(size: number | bigint, batch = 0): Estimate {
    return this.#lookup.call("rooflut_lookup_at", (args) => {
      const out = args.struct(args.zeros(24));
      const estimate = () => ({
        seconds: out.f64(0),
        mfu: out.f64(8),
        class: this.#lookup.instance.name("rooflut_class_name", out.u32(16)),
        isOutside: out.u32(20) === 1,
      });
      return [[u32("batch", batch), u64("size", size), out.pointer], estimate];
    });
  }

  free(): void {
    this.#lookup.free();
  }
}
