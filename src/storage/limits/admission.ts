/**
 * Lets a claim take rows whose limits by key allow it. It runs in the transaction of the claim: the turn that it takes is held until
 * the claim is committed, and what is counted afterwards includes every earlier claim. A process that does not get the turn claims
 * other work and tries again soon.
 */
import { grantsOf, type DueLane, type Grant } from "../../core/start/grants.ts";
import type { Limits } from "../../core/start/limits.ts";
import type { Session } from "../database.ts";
import { LaneTurns } from "../lanes.ts";
import { kindOfLane } from "./lane.ts";
import {
  COUNTED,
  countStarts,
  forgetStarts,
  recordStarts,
  SURVEYED,
  surveyLanes,
  takeTurn,
  type CountedStarts,
  type LimitedTable,
  type NewStarts,
  type RateKey,
} from "./queries.ts";

/** One statement looks at this many lanes, and one claim at ten times as many. The next claim goes on behind them. */
const LANE_MAX = 1_000;
const SURVEY_MAX = 10;

/** When a process that did not get the turn tries again. */
const TURN_MS = 15;

/** Starts whose period is over that one claim removes at most, beyond those that it adds. */
const FORGET_MAX = 100;

/** Lanes whose turns a process remembers. */
const REMEMBERED_MAX = 10_000;

interface Admitted {
  readonly grants: readonly Grant[];
  /** More could be taken with more slots. */
  readonly isMore: boolean;
  /** When another try may find more; undefined: not before something ends, or begins. */
  readonly againMs: number | undefined;
}

/** A row that a claim has taken. */
export interface TakenRow {
  readonly name: string;
  readonly limits: Limits | undefined;
  /** It begins: it counts for its rate. */
  readonly isFirst: boolean;
}

/** What a claim has taken. */
export interface AdmittedClaim<Row> {
  readonly rows: readonly Row[];
  /** When another claim may take more; undefined: not before something ends, or begins. */
  readonly againMs: number | undefined;
}

export class Admission {
  readonly #of: LimitedTable;
  readonly #laneMax: number;
  /** The walk begins behind this lane. */
  #after = "";
  #turns = new LaneTurns();

  constructor(of: LimitedTable, laneMax: number = LANE_MAX) {
    this.#of = of;
    this.#laneMax = laneMax;
  }

  /** A claim of `slots` rows of these kinds, in the transaction of this session. `take` claims what it is granted. */
  async claim<Row>(
    session: Session,
    kinds: ReadonlySet<string>,
    slots: number,
    take: (grants: readonly Grant[]) => Promise<readonly Row[]>,
    toTaken: (row: Row) => TakenRow,
  ): Promise<AdmittedClaim<Row>> {
    const { grants, isMore, againMs } = await this.#admit(session, kinds, slots);
    const rows = await take(grants);
    if (grants.length > 0) await this.#record(session, rows.map(toTaken));
    const hasMissed = isMore && rows.length > 0 && rows.length < slots;
    return { rows, againMs: hasMissed ? 0 : againMs };
  }

  /** What a claim of `slots` rows of these kinds may take. */
  async #admit(session: Session, kinds: ReadonlySet<string>, slots: number): Promise<Admitted> {
    const [turn] = await session.query(takeTurn(session.dialect, this.#of.queue));
    if (!turn) return { grants: [], isMore: false, againMs: TURN_MS };
    const began = this.#after;
    for (let survey = 1; ; survey++) {
      const admitted = await this.#survey(session, kinds, slots);
      const isAround = this.#after === "" && (began === "" || survey > 1);
      if (admitted.grants.length > 0 || isAround || survey >= SURVEY_MAX) return admitted;
    }
  }

  async #survey(session: Session, kinds: ReadonlySet<string>, slots: number): Promise<Admitted> {
    const { dialect } = session;
    const rows = await session.query(surveyLanes(dialect, this.#of, this.#after, this.#laneMax));
    const seen = rows.map((row) => SURVEYED.read(row));
    this.#after = seen.at(-1)?.lane ?? "";
    const found = new Map<string, DueLane>();
    for (const { lane, name, limits, due, running } of seen)
      if (lane !== undefined && name !== undefined && due === 1 && kinds.has(kindOfLane(lane)))
        // A row in the lane of its kind needs no place any more, whatever limits it once had.
        found.set(lane, {
          lane,
          name,
          limits: lane === kindOfLane(lane) ? undefined : limits,
          running,
          begun: 0,
        });
    const counted = await this.#begun(session, [...found.values()]);
    const begunOf = ({ name, limits }: DueLane): number =>
      (limits?.rate && counted.get(keyName({ name, key: limits.rate.key }))?.starts) ?? 0;
    const lanes = this.#turns
      .order([...found.keys()])
      .map((lane) => found.get(lane) as DueLane)
      .map((lane) => ({ ...lane, begun: begunOf(lane) }));
    const { grants, isMore } = grantsOf(lanes, slots);
    this.#served(grants);
    const waits = [...counted.values()].map(({ freeInMs }) => Math.max(1, Math.ceil(freeInMs)));
    return { grants, isMore, againMs: waits.length > 0 ? Math.min(...waits) : undefined };
  }

  async #begun(session: Session, lanes: readonly DueLane[]): Promise<ReadonlyMap<string, CountedStarts>> {
    const keys = new Map<string, RateKey>();
    for (const { name, limits } of lanes) {
      const key = limits?.rate && { name, key: limits.rate.key };
      if (key) keys.set(keyName(key), key);
    }
    if (keys.size === 0) return new Map();
    const rows = await session.query(countStarts(session.dialect, this.#of.queue, [...keys.values()]));
    return new Map(rows.map((row) => COUNTED.read(row)).map((one) => [keyName(one), one]));
  }

  #served(grants: readonly Grant[]): void {
    if (grants.length === 0) return;
    if (this.#turns.size > REMEMBERED_MAX) this.#turns = new LaneTurns();
    this.#turns.served(grants.map(({ lane }) => lane));
  }

  /** Counts the first claims among these rows for their rates. In the transaction of the claim, under its turn. */
  async #record(session: Session, rows: readonly TakenRow[]): Promise<void> {
    const starts = new Map<string, NewStarts>();
    for (const { name, limits, isFirst } of rows) {
      if (!limits?.rate || !isFirst) continue;
      const { key, perMs } = limits.rate;
      const id = `${perMs} ${keyName({ name, key })}`;
      starts.set(id, { name, key, perMs, starts: (starts.get(id)?.starts ?? 0) + 1 });
    }
    if (starts.size === 0) return;
    const { queue } = this.#of;
    await session.query(forgetStarts(session.dialect, queue, starts.size + FORGET_MAX));
    await session.query(recordStarts(session.dialect, queue, [...starts.values()]));
  }
}

function keyName({ name, key }: RateKey): string {
  return `${name} ${key}`;
}
