import type { Arguments } from "./memory.js";
import { f64, oneOf, u32, u64 } from "./value.js";
import type { Owned } from "./owned.js";
import { type Role, ROLES, Server } from "./server.js";

/** Consecutive prompt tokens of one request. */
export interface Chunk {
  /** Tokens computed in this step. */
  newTokens: number;
  /** Tokens of the request in the KV cache after this step, the new ones included. */
  kvLen: number;
  /** Whether the prompt ends with this chunk, so that it yields a token; true if left out. */
  isLast?: boolean;
}

/** Decoding requests. Each has one new token, plus its drafted tokens. */
export interface DecodeGroup {
  requests: number;
  /** Sum of the KV lengths of the requests, all new tokens included. */
  kvTokens: number | bigint;
  /** Drafted tokens of each request. */
  drafted?: number;
  /** KV tokens, over all requests, outside the window of layers with one; as few as the lengths allow if left out. */
  outsideTokens?: number | bigint;
}

/** The tokens of one step. */
export interface Batch {
  prefill?: readonly Chunk[];
  decode?: readonly DecodeGroup[];
}

/** One part of a step, over all layers. */
export interface PartTime {
  /** Such as `qkv`. */
  part: string;
  seconds: number;
  /** Share of the time that comes from constants fitted to servers, 0 to 1. */
  fittedShare: number;
  /** The resource that limits it: `compute`, `memory`, `latency` or `link`. */
  binding: string;
  /** `measured`, `interpolated`, ... or `fitted`. */
  class: string;
  /** Whether the query lies outside of the measured axes. */
  isOutside: boolean;
}

/** The time of a step by part. */
export interface StepTime {
  seconds: number;
  nanoseconds: number;
  /** Seconds that physics demands: FLOPs at the peak, bytes at the bandwidth. */
  boundSeconds: number;
  /** The parts that take time. */
  parts: PartTime[];
}

const PART_BYTES = 32;
const PARTS = 16;

/** A model on GPUs, its server and its load. */
export class Scenario {
  readonly #scenario: Owned;

  /** @internal */
  constructor(scenario: Owned) {
    this.#scenario = scenario;
  }

  /** Returns the scenario with another seed, of the load and of the acceptance of drafts. */
  withSeed(seed: number | bigint): Scenario {
    return new Scenario(this.#scenario.derive("rooflut_scenario_with_seed", u64("seed", seed)));
  }

  /** Returns the scenario at another rate, requests (or sessions) per second. */
  withRate(rate: number): Scenario {
    return new Scenario(this.#scenario.derive("rooflut_scenario_with_rate", f64("rate", rate)));
  }

  /** Simulates the scenario and returns the report. */
  run(): string {
    return this.#scenario.text("rooflut_scenario_run", () => [0, 0n]);
  }

  /** Predicts the time of a step of one server, in nanoseconds. */
  stepNanoseconds(batch: Batch): number {
    return this.#scenario.call("rooflut_step_time", (args) => {
      const time = args.struct(args.zeros(16));
      return [[batchOf(args, batch), time.pointer], () => time.number(8)];
    });
  }

  /** Predicts the time of a step of one server by part. */
  step(batch: Batch): StepTime {
    return this.#scenario.call("rooflut_step_parts", (args) => {
      const time = args.struct(args.zeros(32 + PARTS * PART_BYTES));
      const name = (kind: string, number: number) => this.#scenario.instance.name(`rooflut_${kind}_name`, number);
      const part = (_: unknown, index: number) => {
        const part = args.struct(time.pointer + 32 + index * PART_BYTES);
        return {
          part: name("part", part.u32(16)),
          seconds: part.f64(0),
          fittedShare: part.f64(8),
          binding: name("binding", part.u32(20)),
          class: name("class", part.u32(24)),
          isOutside: part.u32(28) === 1,
        };
      };
      const result = () => ({
        seconds: time.f64(0),
        nanoseconds: time.number(8),
        boundSeconds: time.f64(16),
        parts: Array.from({ length: time.u32(24) }, part),
      });
      return [[batchOf(args, batch), time.pointer], result];
    });
  }

  /** Lists the kernels of a step and the peaks of the GPU: those keys of what `rooflut step --json` prints. */
  stepKernels(batch: Batch): string {
    return this.#scenario.text("rooflut_step_kernels", (args) => [batchOf(args, batch)]);
  }

  /** Predicts the interval, in seconds, that is meant to contain a share `coverage` of measurements of such steps. */
  stepInterval(batch: Batch, coverage: number): [number, number] {
    return this.#scenario.call("rooflut_step_interval", (args) => {
      const interval = args.struct(args.zeros(16));
      const given = [batchOf(args, batch), f64("coverage", coverage), interval.pointer];
      return [given, () => [interval.f64(0), interval.f64(8)]];
    });
  }

  /**
   * Returns a server of the scenario at time 0, without requests.
   *
   * With the role `prefill` or `decode` it is one of separate prefill and decode servers, for a router of the caller. Push
   * a request with one output token to a prefill server, and when that has finished the whole request to a decode server,
   * with the time at which its KV entries are there as `arrivalNs`. A prefill server delays no outputs in the API server; a
   * decode server has no API server before the engine, no queue limit and no patience of clients.
   */
  server(role: Role = "whole"): Server {
    return new Server(this.#scenario.derive("rooflut_server_new_stage", oneOf("role", ROLES, role)));
  }

  free(): void {
    this.#scenario.free();
  }
}

/** Writes a `RooflutBatch`. */
function batchOf(args: Arguments, { prefill = [], decode = [] }: Batch): number {
  const chunks = args.array("prefill", prefill, 12, (struct, chunk, field) => {
    struct.setU32(0, u32(`${field}.newTokens`, chunk.newTokens));
    struct.setU32(4, u32(`${field}.kvLen`, chunk.kvLen));
    struct.setU32(8, (chunk.isLast ?? true) ? 1 : 0);
  });
  const groups = args.array("decode", decode, 24, (struct, group, field) => {
    struct.setU64(0, u64(`${field}.kvTokens`, group.kvTokens));
    struct.setU64(8, u64(`${field}.outsideTokens`, group.outsideTokens ?? 0));
    struct.setU32(16, u32(`${field}.requests`, group.requests));
    struct.setU32(20, u32(`${field}.drafted`, group.drafted ?? 0));
  });
  const batch = args.struct(args.zeros(16));
  batch.setText(0, [chunks, prefill.length]);
  batch.setText(8, [groups, decode.length]);
  return batch.pointer;
}
