/** The loads under which the deployments of the front are simulated: few users and many first, then those between. */
import { get, num, type Json } from '../data/json.js';
import { copy, joinScenario, literal, put, type Scenario } from './toml.js';

/** Numbers of users, in the order in which they are tried. */
const USERS = [1, 16, 128, 512, 4, 64, 2, 8, 32, 256];
/** Requests of a run, for each user and at least. */
const [EACH, LEAST] = [8, 64];
/**
 * How much more output a load may have than those around it. A server that runs out of KV blocks has less at 512 users
 * than at 256: 7 % of llama-3.1-70b on 8 H100.
 */
const MARGIN = 1.25;

/** Returns the text of a scenario with a number of users. */
export function loaded(scenario: Scenario, users: number): string {
  const one = copy(scenario);
  put(one.tables, 'workload', 'users', literal(users));
  put(one.tables, 'workload', 'requests', literal(Math.max(LEAST, EACH * users)));
  return joinScenario(one);
}

interface Speed {
  users: number;
  perUser: number;
  perGpu: number;
  isOverloaded: boolean;
}

export class Loads {
  /** What is known of each deployment; `undefined` for those that are left out. */
  private readonly known: (Speed[] | undefined)[];

  /** `gpus` has the number of GPUs of each deployment. */
  constructor(private readonly gpus: number[]) {
    this.known = gpus.map(() => []);
  }

  /** Yields the loads that may have a place on the front, by what was noted until then. */
  *next(): Generator<{ at: number; users: number }, void> {
    for (const users of USERS) {
      for (const at of this.known.keys()) if (this.mayLead(at, users)) yield { at, users };
    }
  }

  /** Returns the place of a load among all: by deployment, then by users. */
  place(at: number, users: number): number {
    return at * Math.max(...USERS) + users;
  }

  note(at: number, users: number, report: Json): void {
    const [perUser, perGpu] = [num(report, 'tokens_per_s_per_user'), num(report, 'output_tokens_per_s_per_gpu')];
    const isOverloaded = get(report, 'overloaded') === true;
    this.known[at]?.push({ users, perUser: perUser ?? NaN, perGpu: perGpu ?? NaN, isOverloaded });
  }

  leaveOut(at: number): void {
    this.known[at] = undefined;
  }

  /**
   * Whether a load may be on the front. With more users, each is served no faster, and a GPU has more output, up to
   * what they receive at that speed.
   */
  private mayLead(at: number, users: number): boolean {
    const known = this.known[at];
    const fewer = known?.filter((one) => one.users < users).sort((a, b) => b.users - a.users)[0];
    const more = known?.filter((one) => one.users > users).sort((a, b) => a.users - b.users)[0];
    if (!fewer) return known !== undefined;
    const between = more ? MARGIN * Math.max(fewer.perGpu, more.perGpu) : Infinity;
    const most = Math.min(between, (users * fewer.perUser) / (this.gpus[at] ?? 1));
    const beats = (one: Speed): boolean => !one.isOverloaded && one.perUser >= fewer.perUser && one.perGpu >= most;
    return !this.known.some((speeds) => speeds?.some(beats));
  }
}
