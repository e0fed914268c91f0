/**
 * Creates jobs for deliveries that are due: fairly, lane by lane, within the slots and the rate of each lane. Each walk
 * continues where the last one ended, so that every lane gets its turn.
 */
import { nextJob } from "../../core/delivery/decide.ts";
import type { LeasedJob } from "../../core/delivery/job.ts";
import { CLOSING_MAX, nextDueAfter, roomOf, type Lane } from "../../core/delivery/lane.ts";
import type { Row, Session } from "../../storage/database.ts";
import {
  DELIVERY_ID,
  DUE_DELIVERY,
  dueInLanes,
  dueInOrder,
  exhaustWaiting,
  startAttempts,
  type DueDelivery,
  type LaneRoom,
  type Move,
} from "./delivery-queries.ts";
import type { MovedDeliveries } from "./job-queries.ts";
import { paceLanes, surveyLanes, takeTurn, toLane, type Pace } from "./lane-queries.ts";

const LANES_MAX = 250;

/** How the job layer makes jobs for deliveries. It returns those that this process is to send. */
export type CreateJobs = (session: Session, moved: MovedDeliveries) => Promise<readonly LeasedJob[]>;

/** What one walk over the lanes led to. */
interface Moved {
  readonly count: number;
  /** The jobs that this process is to send. */
  readonly jobs: readonly LeasedJob[];
  /** Deliveries that were ended instead: their limit was lowered while they waited. */
  readonly dead: readonly string[];
  /** In how long the rate of one of these lanes lets the next job go. */
  readonly pacedMs: number | undefined;
}

export interface Created extends Moved {
  /** Some lanes were not looked at, or another process has its turn: it is worth looking again at once. */
  readonly again: boolean;
}

const NOTHING: Moved = { count: 0, jobs: [], dead: [], pacedMs: undefined };

export interface CreationOptions {
  /** The limit of attempts if a subscription does not set one. */
  readonly attemptMax: number;
  /** The most places that a lane can have. */
  readonly concurrencyMax: number;
}

export class JobCreation {
  readonly #options: CreationOptions;
  #after = "0";

  constructor(options: CreationOptions) {
    this.#options = options;
  }

  async create(session: Session, jobsMax: number, createJobs: CreateJobs): Promise<Created> {
    const start = this.#after;
    const [turn, survey] = await Promise.all([
      session.query(takeTurn(session.dialect)),
      session.query(surveyLanes(session.dialect, start, LANES_MAX)),
    ]);
    if (turn.length === 0) return { ...NOTHING, again: true };
    const first = await this.#walk(session, survey, jobsMax, createJobs);
    const isRound = first.ended && start !== "0" && first.count < jobsMax;
    if (!isRound) return { ...first, again: !first.ended };
    // Behind the last lane comes the first one again.
    const lanes = await session.query(surveyLanes(session.dialect, "0", LANES_MAX));
    const second = await this.#walk(session, lanes, jobsMax - first.count, createJobs);
    return {
      count: first.count + second.count,
      jobs: [...first.jobs, ...second.jobs],
      dead: [...first.dead, ...second.dead],
      pacedMs: soonest([first.pacedMs, second.pacedMs]),
      again: !second.ended,
    };
  }

  async #walk(
    session: Session,
    rows: readonly Row[],
    jobsMax: number,
    createJobs: CreateJobs,
  ): Promise<Moved & { readonly ended: boolean }> {
    const lanes = new Map<string, Lane>();
    for (const row of rows) {
      const lane = toLane(row, this.#options.attemptMax);
      if (lane) lanes.set(lane.subscriptionId, lane);
    }
    const due = await this.#dueIn(session, lanes);
    const taken = fairly(due, lanes, jobsMax);
    const last = taken.length < due.length ? taken.at(-1)?.subscriptionId : [...lanes.keys()].at(-1);
    const ended = taken.length === due.length && lanes.size < LANES_MAX;
    this.#after = ended ? "0" : (last ?? "0");
    return { ...(await move(session, taken, lanes, createJobs)), ended };
  }

  async #dueIn(session: Session, lanes: ReadonlyMap<string, Lane>): Promise<readonly DueDelivery[]> {
    const { dialect } = session;
    const free: LaneRoom[] = [];
    const ordered: LaneRoom[] = [];
    for (const lane of lanes.values()) {
      const room = roomOf(lane);
      const isOrdered = lane.ordered && lane.status === "Active";
      if (room > 0) (isOrdered ? ordered : free).push({ subscriptionId: lane.subscriptionId, room });
    }
    const roomMax = Math.max(this.#options.concurrencyMax, CLOSING_MAX);
    const found = await Promise.all([
      free.length > 0 ? session.query(dueInLanes(dialect, free, roomMax)) : [],
      ordered.length > 0 ? session.query(dueInOrder(dialect, ordered)) : [],
    ]);
    return found.flat().map((row) => DUE_DELIVERY.read(row));
  }
}

/** If there is less room than work, lanes take turns: the first of each, then the second of each. */
function fairly(
  due: readonly DueDelivery[],
  lanes: ReadonlyMap<string, Lane>,
  jobsMax: number,
): readonly DueDelivery[] {
  if (due.length <= jobsMax) return due;
  const places = new Map([...lanes.keys()].map((id, place) => [id, place]));
  const counts = new Map<string, number>();
  const ranked = due.map((delivery) => {
    const rank = counts.get(delivery.subscriptionId) ?? 0;
    counts.set(delivery.subscriptionId, rank + 1);
    return { delivery, rank, place: places.get(delivery.subscriptionId) ?? 0 };
  });
  ranked.sort((a, b) => a.rank - b.rank || a.place - b.place);
  return ranked.slice(0, jobsMax).map(({ delivery }) => delivery);
}

async function move(
  session: Session,
  due: readonly DueDelivery[],
  lanes: ReadonlyMap<string, Lane>,
  createJobs: CreateJobs,
): Promise<Moved> {
  const { dialect } = session;
  const moves: Record<"createJob" | "exhaust", Move[]> = { createJob: [], exhaust: [] };
  const counts = new Map<string, number>();
  for (const { id, subscriptionId, status, attemptCount } of due.toSorted(byId)) {
    const { attemptMax } = lanes.get(subscriptionId) as Lane;
    const next = nextJob({ status, attemptCount, attemptMax, due: true, hasActiveJob: false });
    if (next !== "wait") moves[next].push({ deliveryId: id, attemptCount, attemptMax });
    if (next === "createJob") counts.set(subscriptionId, (counts.get(subscriptionId) ?? 0) + 1);
  }
  const { createJob: started, exhaust: exhausted } = moves;
  const { paces, pacedMs } = pace(counts, lanes);
  if (paces.length > 0) await session.query(paceLanes(dialect, paces));
  const dead = exhausted.length > 0 ? await session.query(exhaustWaiting(dialect, exhausted)) : [];
  const jobs = started.length > 0 ? await createJobs(session, startAttempts(dialect, started)) : [];
  return { count: started.length, jobs, dead: dead.map((row) => DELIVERY_ID.read(row).id), pacedMs };
}

/** When the lanes that have a rate may have their next jobs, after these. */
function pace(
  counts: ReadonlyMap<string, number>,
  lanes: ReadonlyMap<string, Lane>,
): { readonly paces: readonly Pace[]; readonly pacedMs: number | undefined } {
  const paces: Pace[] = [];
  const ahead: number[] = [];
  for (const [subscriptionId, lane] of lanes) {
    const count = counts.get(subscriptionId) ?? 0;
    const nextMs = nextDueAfter(lane, count);
    if (nextMs === undefined) continue;
    if (count > 0) paces.push({ subscriptionId, dueMs: Math.ceil(lane.nowMs + nextMs) });
    // A lane whose time has come has nothing due, or no place: the process that changes that announces it.
    if (nextMs > 0) ahead.push(Math.ceil(nextMs));
  }
  return { paces, pacedMs: soonest(ahead) };
}

function soonest(times: readonly (number | undefined)[]): number | undefined {
  const known = times.filter((ms) => ms !== undefined);
  return known.length > 0 ? Math.min(...known) : undefined;
}

/** Every process locks rows in this order. */
function byId(a: DueDelivery, b: DueDelivery): number {
  return Number(a.id) - Number(b.id);
}
