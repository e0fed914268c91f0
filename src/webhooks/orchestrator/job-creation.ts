/**
 * Creates jobs for deliveries that are due: fairly, lane by lane, and never more than a lane has places or
 * than its rate lets go now. The walk goes on where the last one ended, so that every lane has its turn however many
 * there are.
 */
import { nextJob } from "../../core/delivery/decide.ts";
import { CLOSING_MAX, nextDueAfter, roomOf, type Lane } from "../../core/delivery/lane.ts";
import type { InitialClaim } from "../../storage/claim.ts";
import type { WriteMode } from "../../storage/checked-write.ts";
import type { Row, Session } from "../../storage/database.ts";
import {
  dueInLanes,
  dueInOrder,
  exhaustWaiting,
  createJobs,
  paceLanes,
  surveyLanes,
  takeTurn,
} from "./queries.ts";
import type { Move } from "./queries.ts";
import { toDueDelivery, toLane, type DueDelivery } from "./rows.ts";

const LANES_MAX = 250;

/** What one walk over the lanes led to. */
interface Moved {
  readonly jobs: number;
  /** Jobs that were written with a birth. */
  readonly born: readonly Row[];
  /** Deliveries that were ended instead: their limit was lowered while they waited. */
  readonly dead: readonly string[];
  /** In how long the rate of one of these lanes lets the next job go. */
  readonly pacedMs: number | undefined;
}

export interface Created extends Moved {
  /** There are lanes that were not looked at, or another process has its turn: it is worth to look again at once. */
  readonly again: boolean;
}

export interface CreationOptions {
  /** The limit of attempts where a subscription has none of its own. */
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

  async create(
    session: Session,
    jobsMax: number,
    initialClaim?: InitialClaim,
    mode: WriteMode = "checked",
  ): Promise<Created> {
    const start = this.#after;
    const [turn, survey] = await Promise.all([
      session.query(takeTurn(session.dialect)),
      session.query(surveyLanes(session.dialect, start, LANES_MAX)),
    ]);
    if (turn.length === 0) return { jobs: 0, born: [], dead: [], pacedMs: undefined, again: true };
    const first = await this.#walk(session, survey, jobsMax, initialClaim, mode);
    // Behind the last lane comes the first one again.
    const isRound = first.ended && start !== "0" && first.jobs < jobsMax;
    const second = isRound
      ? await this.#walk(
          session,
          await session.query(surveyLanes(session.dialect, "0", LANES_MAX)),
          jobsMax - first.jobs,
          initialClaim,
          mode,
        )
      : undefined;
    return {
      jobs: first.jobs + (second?.jobs ?? 0),
      born: [...first.born, ...(second?.born ?? [])],
      dead: [...first.dead, ...(second?.dead ?? [])],
      pacedMs: soonest([first.pacedMs, second?.pacedMs]),
      again: !(second ?? first).ended,
    };
  }

  async #walk(
    session: Session,
    rows: readonly Row[],
    jobsMax: number,
    initialClaim: InitialClaim | undefined,
    mode: WriteMode,
  ): Promise<Moved & { readonly ended: boolean }> {
    const lanes = new Map<string, Lane>();
    for (const row of rows) {
      const lane = toLane(row, this.#options.attemptMax);
      if (lane) lanes.set(lane.subscriptionId, lane);
    }
    const due = await this.#dueIn(session, lanes, mode);
    const taken = fairly(due, lanes, jobsMax);
    const last = taken.length < due.length ? taken.at(-1)?.subscriptionId : [...lanes.keys()].at(-1);
    const ended = taken.length === due.length && lanes.size < LANES_MAX;
    this.#after = ended ? "0" : (last ?? "0");
    return { ...(await move(session, taken, lanes, initialClaim)), ended };
  }

  async #dueIn(
    session: Session,
    lanes: ReadonlyMap<string, Lane>,
    mode: WriteMode,
  ): Promise<readonly DueDelivery[]> {
    const { dialect } = session;
    const open = [...lanes.values()]
      .map((lane) => ({ lane, room: roomOf(lane) }))
      .filter(({ room }) => room > 0);
    const isOrdered = ({ lane }: { lane: Lane }): boolean => lane.ordered && lane.status === "Active";
    const pairs = (of: typeof open): (readonly [string, number])[] =>
      of.map(({ lane, room }) => [lane.subscriptionId, room] as const);
    const free = pairs(open.filter((one) => !isOrdered(one)));
    const ordered = pairs(open.filter(isOrdered));
    const roomMax = Math.max(this.#options.concurrencyMax, CLOSING_MAX);
    const found = await Promise.all([
      free.length > 0 ? session.query(dueInLanes(dialect, free, roomMax, mode)) : [],
      ordered.length > 0 ? session.query(dueInOrder(dialect, ordered, mode)) : [],
    ]);
    return found.flat().map(toDueDelivery);
  }
}

/** Where there is less room than work, lanes take turns: the first of each, then the second of each. */
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
  initialClaim: InitialClaim | undefined,
): Promise<Moved> {
  const { dialect } = session;
  const moves: Record<"createJob" | "exhaust", Move[]> = { createJob: [], exhaust: [] };
  const counts = new Map<string, number>();
  for (const { id, subscriptionId, status, attemptCount } of due.toSorted(byId)) {
    const { attemptMax } = lanes.get(subscriptionId) as Lane;
    const next = nextJob({ status, attemptCount, attemptMax, due: true, hasActiveJob: false });
    if (next !== "wait") moves[next].push([id, attemptCount, attemptMax]);
    if (next === "createJob") counts.set(subscriptionId, (counts.get(subscriptionId) ?? 0) + 1);
  }
  const { paces, pacedMs } = pace(counts, lanes);
  const creation = moves.createJob.length > 0 ? createJobs(dialect, moves.createJob, initialClaim) : [];
  // Sent together, carried out in this order.
  const [dead, , ...created] = await Promise.all([
    moves.exhaust.length > 0 ? session.query(exhaustWaiting(dialect, moves.exhaust)) : [],
    paces.length > 0 ? session.query(paceLanes(dialect, paces)) : [],
    ...creation.map((statement) => session.query(statement)),
  ]);
  return {
    jobs: moves.createJob.length,
    born: created.at(-1) ?? [],
    dead: dead.map((row) => String(row["id"])),
    pacedMs,
  };
}

/** When the lanes that have a rate may have their next jobs, after these. */
function pace(
  counts: ReadonlyMap<string, number>,
  lanes: ReadonlyMap<string, Lane>,
): { readonly paces: readonly (readonly [string, number])[]; readonly pacedMs: number | undefined } {
  const paces: (readonly [string, number])[] = [];
  const ahead: number[] = [];
  for (const [id, lane] of lanes) {
    const count = counts.get(id) ?? 0;
    const nextMs = nextDueAfter(lane, count);
    if (nextMs === undefined) continue;
    if (count > 0) paces.push([id, Math.ceil(lane.nowMs + nextMs)]);
    // A lane whose time has come has nothing due, or no place: whatever changes that is told.
    if (nextMs > 0) ahead.push(Math.ceil(nextMs));
  }
  return { paces, pacedMs: soonest(ahead) };
}

function soonest(times: readonly (number | undefined)[]): number | undefined {
  const known = times.filter((ms) => ms !== undefined);
  return known.length > 0 ? Math.min(...known) : undefined;
}

/** Rows are locked in this order by everybody. */
function byId(a: DueDelivery, b: DueDelivery): number {
  return Number(a.id) - Number(b.id);
}
