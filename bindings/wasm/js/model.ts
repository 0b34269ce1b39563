import type { Instance } from "./instance.js";
import type { Owned } from "./owned.js";
import type { ConfigFiles } from "./rooflut.js";

/** The dimensions of a model. */
export class Model {
  readonly #model: Owned;

  /** @internal */
  constructor(model: Owned) {
    this.#model = model;
  }

  /** @internal */
  static read(instance: Instance, files: ConfigFiles): bigint {
    return instance.handle("rooflut_model_read", (args) => {
      const struct = args.struct(args.zeros(36));
      struct.setText(0, args.text(files.name));
      struct.setText(8, args.text(files.config));
      if (files.hf_quant_config !== undefined) struct.setText(16, args.text(files.hf_quant_config));
      if (files.generation_config !== undefined) struct.setText(24, args.text(files.generation_config));
      struct.setU32(32, files.assume_llama ? 1 : 0);
      return [struct.pointer];
    });
  }

  /** @internal */
  get handle(): bigint {
    return this.#model.handle;
  }

  /** Returns name and specification as JSON. */
  describe(): string {
    return this.#model.text("rooflut_model_describe", () => []);
  }

  free(): void {
    this.#model.free();
  }
}
