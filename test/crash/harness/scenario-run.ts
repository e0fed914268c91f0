/**
 * One run of one scenario on one database in this process, up to its crash point. A process executes several runs side
 * by side, each on a database of its own, so that one killed process tries many points.
 */
import { Amends, type StepCall } from "amends";
import type { Database } from "../../../src/storage/database.ts";
import { Effects, recorder, type CallMoment } from "../external-world/effects.ts";
import { openSandbox, type Sandbox } from "./sandbox.ts";
import { withCrashPoints, type CrashPoint, type AtPoint } from "./crash-points.ts";
import { definitionsOf, type Scenario, type RunContext } from "../scenarios/scenario.ts";
import { World } from "../external-world/world.ts";

/** Short, so that a dead process's claims expire soon. A live process renews them every eighth of it. */
export const LEASE_MS = 400;

export interface ScenarioRunOptions {
  readonly sandbox: Sandbox;
  readonly scenario: Scenario;
  readonly atPoint: AtPoint;
  /** For runs without a crash: long enough that a busy machine does not lose the lease. */
  readonly leaseMs?: number;
  cancel(sagaId: string): Promise<void>;
}

export interface ScenarioRunReport {
  /** Every point that was reached, in the order of the first time. */
  readonly points: readonly CrashPoint[];
  readonly counters: Amends["counters"];
  /** The number of sagas and entries that it lost to another process. */
  readonly lost: number;
}

export async function runScenario(given: ScenarioRunOptions): Promise<ScenarioRunReport> {
  const { sandbox, scenario, atPoint, cancel, leaseMs = LEASE_MS } = given;
  const points = new Map<string, CrashPoint>();
  const renewals = new Counter();
  const parking: Promise<void>[] = [];
  const pass: AtPoint = async (point) => {
    if (point.name.includes("renewal")) {
      renewals.raise();
      if (scenario.renewals !== true) return;
    }
    // A name that occurs again is the same point: only its first time counts.
    if (points.has(point.name)) return;
    points.set(point.name, point);
    const parked = atPoint(point);
    parking.push(parked);
    await parked;
  };

  const databases: Database[] = [];
  const open = async (label?: string): Promise<Database> => {
    const database = withCrashPoints(await openSandbox(sandbox), pass, label);
    databases.push(database);
    return database;
  };
  const database = await open();
  const second = await open("other ");
  const effects = new Effects(sandbox.effects);
  const world = new World(sandbox, effects, database, cancel, pass);
  if (scenario.renewals === true) world.renewed = (times) => renewals.reached(times);
  const workload = scenario.workload(world);
  const atCall = (call: StepCall, moment: CallMoment): Promise<void> => {
    const locked = (workload.sagas ?? []).some(({ plan }) =>
      plan.some(({ name, atomic }) => atomic && name === call.step),
    );
    return pass({ name: `${call.action} ${call.step} ${call.attempt} ${moment}`, locked });
  };
  const options = { ...definitionsOf(workload), lease: leaseMs, middleware: [recorder(effects, atCall)] };
  const amends = new Amends({ ...options, ...workload.parts?.(leaseMs), database });
  workload.onAmends?.(amends);
  const { concurrency, poll = 200 } = workload;
  const { events, erasure, calls } = amends.parts;
  const lost = (): number => (events?.lost ?? 0) + (erasure?.runner.lost ?? 0) + (calls?.lost ?? 0);
  const context: RunContext = {
    amends,
    database,
    worker: amends.worker({ poll, ...(concurrency !== undefined && { concurrency }) }),
    lost,
    another: () => new Amends({ ...options, database: second }),
  };
  try {
    await workload.run(context);
    // The work may be over before the call that waits at its point: that call still has to notice its lost claim.
    await Promise.allSettled(parking);
    await untilSettled(amends);
  } finally {
    await amends.close();
    for (const one of databases) await one.close();
    world.close();
  }
  const { counters } = amends;
  return { points: [...points.values()], counters: { ...counters }, lost: counters.lost + lost() };
}

const SETTLE_MS = 500;

/** Waits until the counters show that every saga that ran here has ended. Starts for other workers count too. */
async function untilSettled({ counters }: Amends): Promise<void> {
  for (let waited = 0; waited < SETTLE_MS; waited += 10) {
    const { started, claimed, completed, failed, stalled, released, lost } = counters;
    if (completed + failed + stalled + released + lost >= started + claimed) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** Counts, and resolves promises that wait for a count. */
class Counter {
  #times = 0;
  #waiting: (() => void)[] = [];

  raise(): void {
    this.#times++;
    for (const resume of this.#waiting.splice(0)) resume();
  }

  async reached(times: number): Promise<void> {
    while (this.#times < times) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }
}
