/**
 * One run of one scenario on one database in this process, up to the point at which it is stopped. A process runs
 * several lanes side by side, each on a database of its own, so that one killed process tries many points.
 */
import { Amends, type StepCall } from "amends";
import type { Database } from "../../src/storage/database.ts";
import { Effects, recorder, type CallMoment } from "../support/effects.ts";
import { openPlace, type Place } from "./place.ts";
import { probe, type Point, type Reach } from "./probe.ts";
import { rolesOf, type Scenario, type Stage } from "./scenario.ts";
import { World } from "./world.ts";

/** Short, so that what a dead process held is soon taken up. Whoever lives renews it every eighth. */
export const LEASE_MS = 400;

export interface LaneOptions {
  readonly place: Place;
  readonly scenario: Scenario;
  readonly reach: Reach;
  /** For lanes in which nobody dies: long enough that a busy machine does not take one for dead. */
  readonly leaseMs?: number;
  cancel(sagaId: string): Promise<void>;
}

export interface LaneReport {
  /** Every point that was passed, in the order of the first time. */
  readonly points: readonly Point[];
  readonly counters: Amends["counters"];
  /** How many sagas and entries it lost to another process. */
  readonly lost: number;
}

export async function runLane(given: LaneOptions): Promise<LaneReport> {
  const { place, scenario, reach, cancel, leaseMs = LEASE_MS } = given;
  const points = new Map<string, Point>();
  const renewals = new Signal();
  const parking: Promise<void>[] = [];
  const pass: Reach = async (point) => {
    if (point.name.includes("renewal")) {
      renewals.raise();
      if (scenario.renewals !== true) return;
    }
    // A name that comes again is the same point: only its first time counts.
    if (points.has(point.name)) return;
    points.set(point.name, point);
    const parked = reach(point);
    parking.push(parked);
    await parked;
  };

  const databases: Database[] = [];
  const open = async (label?: string): Promise<Database> => {
    const database = probe(await openPlace(place), pass, label);
    databases.push(database);
    return database;
  };
  const database = await open();
  const second = await open("other ");
  const effects = new Effects(place.effects);
  const world = new World(place, effects, database, cancel, pass);
  if (scenario.renewals === true) world.renewed = (times) => renewals.reached(times);
  const play = scenario.play(world);
  const atCall = (call: StepCall, moment: CallMoment): Promise<void> => {
    const locked = (play.sagas ?? []).some(({ plan }) =>
      plan.some(({ name, atomic }) => atomic && name === call.step),
    );
    return pass({ name: `${call.action} ${call.step} ${call.attempt} ${moment}`, locked });
  };
  const options = { ...rolesOf(play), lease: leaseMs, middleware: [recorder(effects, atCall)] };
  const amends = new Amends({ ...options, ...play.parts?.(leaseMs), database });
  play.meet?.(amends);
  const { concurrency, poll = 200 } = play;
  const { events, erasure, calls } = amends.parts;
  const lost = (): number => (events?.lost ?? 0) + (erasure?.runner.lost ?? 0) + (calls?.lost ?? 0);
  const stage: Stage = {
    amends,
    database,
    worker: amends.worker({ poll, ...(concurrency !== undefined && { concurrency }) }),
    lost,
    another: () => new Amends({ ...options, database: second }),
  };
  try {
    await play.run(stage);
    // The work may be over before the call that waits at its point is: it still has to find out that it lost.
    await Promise.allSettled(parking);
    await settled(amends);
  } finally {
    await amends.close();
    for (const one of databases) await one.close();
    world.close();
  }
  const { counters } = amends;
  return { points: [...points.values()], counters: { ...counters }, lost: counters.lost + lost() };
}

const SETTLE_MS = 500;

/** Resolves when every saga that ran here has left, as far as the counters tell: starts for others count as well. */
async function settled({ counters }: Amends): Promise<void> {
  for (let waited = 0; waited < SETTLE_MS; waited += 10) {
    const { started, claimed, completed, failed, stalled, released, lost } = counters;
    if (completed + failed + stalled + released + lost >= started + claimed) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** Counts, and tells whoever waits for a count. */
class Signal {
  #times = 0;
  #waiting: (() => void)[] = [];

  raise(): void {
    this.#times++;
    for (const look of this.#waiting.splice(0)) look();
  }

  async reached(times: number): Promise<void> {
    while (this.#times < times) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }
}
