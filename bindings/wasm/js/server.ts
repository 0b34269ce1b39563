import type { Struct } from "./memory.js";
import { u32, u64 } from "./value.js";
import type { Owned } from "./owned.js";

/** Roles of servers, in the order of the C interface. */
export const ROLES = ["whole", "prefill", "decode"] as const;

/** Role of a server: prefill, decode or both. */
export type Role = (typeof ROLES)[number];

/** A request. */
export interface Request {
  promptTokens: number;
  outputTokens: number;
  /** Arrival, nanoseconds from the start. */
  arrivalNs?: number;
  /** Leading tokens of the prompt that count as found in the prefix cache. */
  cachedPromptTokens?: number;
  /** Smaller numbers go first under the policy `priority`. */
  priority?: number;
}

/** An event in the life of a request. */
export interface Event {
  /** Number of the request, as `push` returned it. */
  request: number;
  kind: "first_token" | "finished" | "unknown";
  /** How it ended, such as `completed`, `queue_full` or `cancelled`; undefined unless it has finished. */
  outcome: string | undefined;
  /** Nanoseconds from the start. */
  atNs: number;
  /** How often it was preempted. */
  preemptions: number;
}

export interface ServerState {
  nowNs: number;
  /** The time to advance to next; undefined if the server is idle. */
  nextEventNs: number | undefined;
  /** Tokens of prompt and output of all requests that have not finished. */
  outstandingTokens: number;
  /** Requests that the engine has not seen yet. */
  arriving: number;
  waiting: number;
  running: number;
  kvBlocksUsed: number;
  kvBlocks: number;
  isInStep: boolean;
}

/** Counts of all steps of a server that have ended. */
export interface ServerTotals {
  steps: number;
  busyNs: number;
  completed: number;
  rejected: number;
  truncated: number;
  tokens: number;
  outputTokens: number;
  preemptions: number;
  cacheLookups: number;
  cacheHits: number;
  cacheEvictions: number;
  peakKvBlocks: number;
}

const EVENT_BYTES = 64;
const EVENTS = 64;
const IDLE = 0xffff_ffff_ffff_ffffn;

/** A server that the caller drives. */
export class Server {
  readonly #server: Owned;

  /** @internal */
  constructor(server: Owned) {
    this.#server = server;
  }

  /** Returns a server with the same clock, requests, KV cache and events, which goes on by itself. */
  copy(): Server {
    return new Server(this.#server.derive("rooflut_server_copy"));
  }

  /** Adds a request and returns its number: how many were added before it. */
  push(request: Request): number {
    return this.#server.call("rooflut_server_push", (args) => {
      const [struct, number] = [args.struct(args.zeros(64)), args.struct(args.zeros(8))];
      struct.setU64(0, u64("arrivalNs", request.arrivalNs ?? 0));
      struct.setU32(8, u32("promptTokens", request.promptTokens));
      struct.setU32(12, u32("outputTokens", request.outputTokens));
      struct.setU32(16, u32("cachedPromptTokens", request.cachedPromptTokens ?? 0));
      struct.setU32(20, u32("priority", request.priority ?? 0));
      return [[struct.pointer, number.pointer], () => number.number(0)];
    });
  }

  /**
   * Cancels a request that waits, runs or is still to arrive: its KV blocks are freed, and its last event has the outcome
   * `cancelled`. It takes effect at the next step boundary, and at once for a request that arrives after the current
   * time. A number that was never pushed, has finished or was cancelled is an error.
   */
  cancel(request: number): void {
    this.#server.call("rooflut_server_cancel", () => [[u64("request", request)], () => undefined]);
  }

  /** Moves the clock to `toNs` and runs all steps that begin before. */
  advance(toNs: number): ServerState {
    return this.#answer("rooflut_server_advance", 64, state, u64("toNs", toNs));
  }

  state(): ServerState {
    return this.#answer("rooflut_server_state", 64, state);
  }

  totals(): ServerTotals {
    return this.#answer("rooflut_server_totals", 96, totals);
  }

  /** Returns the events since the last call and removes them. */
  events(): Event[] {
    const events: Event[] = [];
    while (events.length % EVENTS === 0) {
      const more = this.#events();
      if (more.length === 0) break;
      events.push(...more);
    }
    return events;
  }

  free(): void {
    this.#server.free();
  }

  #answer<T>(name: string, bytes: number, read: (struct: Struct) => T, ...given: bigint[]): T {
    return this.#server.call(name, (args) => {
      const struct = args.struct(args.zeros(bytes));
      return [[...given, struct.pointer], () => read(struct)];
    });
  }

  #events(): Event[] {
    return this.#server.call("rooflut_server_events", (args) => {
      const [events, length] = [args.zeros(EVENT_BYTES * EVENTS), args.struct(args.zeros(4))];
      const event = (_: unknown, index: number) => {
        const event = args.struct(events + index * EVENT_BYTES);
        const { instance } = this.#server;
        const kind = instance.name("rooflut_event_kind_name", event.u32(48)) as Event["kind"];
        const outcome = kind === "finished" ? instance.name("rooflut_outcome_name", event.u32(56)) : undefined;
        return { request: event.number(0), kind, outcome, atNs: event.number(8), preemptions: event.u32(52) };
      };
      return [[events, EVENTS, length.pointer], () => Array.from({ length: length.u32(0) }, event)];
    });
  }
}

function state(struct: Struct): ServerState {
  return {
    nowNs: struct.number(0),
    nextEventNs: struct.u64(8) === IDLE ? undefined : struct.number(8),
    outstandingTokens: struct.number(16),
    arriving: struct.number(24),
    waiting: struct.number(32),
    running: struct.number(40),
    kvBlocksUsed: struct.u32(48),
    kvBlocks: struct.u32(52),
    isInStep: struct.u32(56) === 1,
  };
}

function totals(struct: Struct): ServerTotals {
  return {
    steps: struct.number(0),
    busyNs: struct.number(8),
    completed: struct.number(16),
    rejected: struct.number(24),
    truncated: struct.number(32),
    tokens: struct.number(40),
    outputTokens: struct.number(48),
    preemptions: struct.number(56),
    cacheLookups: struct.number(64),
    cacheHits: struct.number(72),
    cacheEvictions: struct.number(80),
    peakKvBlocks: struct.number(88),
  };
}
