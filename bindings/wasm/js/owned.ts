import { RooflutError } from "./error.js";
import type { Instance } from "./instance.js";
import type { Arguments } from "./memory.js";

/** An object of the library, which `free` frees. */
export class Owned {
  readonly instance: Instance;
  readonly #handle: bigint;
  readonly #epoch: number;
  readonly #missing: () => RooflutError | undefined;
  #isFreed = false;

  constructor(instance: Instance, handle: bigint, missing: () => RooflutError | undefined) {
    this.instance = instance;
    this.#handle = handle;
    this.#epoch = instance.epoch;
    this.#missing = missing;
  }

  get handle(): bigint {
    if (this.#isFreed) throw new RooflutError("handle", "expected an object in use, found one that was freed");
    if (this.instance.epoch !== this.#epoch) {
      throw new RooflutError(
        "handle",
        "expected an object in use, found one that a defect in another call has ended; make a new one",
      );
    }
    return this.#handle;
  }

  /** Returns another object that `name` makes of this one. */
  derive(name: string, ...given: (number | bigint)[]): Owned {
    const handle = this.#present(() => this.instance.handle(name, () => [this.handle, ...given]));
    return new Owned(this.instance, handle, this.#missing);
  }

  /** Calls `name` with this object and the arguments of `prepare`. */
  call<T>(name: string, prepare: (args: Arguments) => readonly [(number | bigint)[], () => T]): T {
    return this.#present(() =>
      this.instance.call(name, (args) => {
        const [given, result] = prepare(args);
        return [[this.handle, ...given], result];
      }),
    );
  }

  /** Returns the text that `name` answers with this object and the arguments of `prepare`. */
  text(name: string, prepare: (args: Arguments) => (number | bigint)[]): string {
    return this.#present(() => this.instance.text(name, (args) => [this.handle, ...prepare(args)]));
  }

  free(): void {
    if (!this.#isFreed && this.instance.epoch === this.#epoch) this.instance.free(this.#handle);
    this.#isFreed = true;
  }

  #present<T>(work: () => T): T {
    try {
      return work();
    } finally {
      const missing = this.#missing();
      // The answer or the error without the rows is not that of the library.
      if (missing) throw missing;
    }
  }
}
