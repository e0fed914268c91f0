/**
 * The kinds of sagas that this process can run: those of its own definitions, and those that earlier definitions began and that
 * its own still fit. The open kinds are read from time to time, because other processes may begin sagas with other steps.
 */
import { decodePlan, encodePlan, misfit } from "../../core/saga/plan.ts";
import type { Database } from "../../storage/database.ts";
import type { KnownKind } from "../journal/journal.ts";
import { OPEN_LANE, reportServed, selectOpenLanes, type OpenLane, type ServedKind } from "./queries.ts";
import type { DutyLook } from "../../runtime/duty.ts";
import { kindOfLane } from "../../storage/limits/lane.ts";
import { kindOf } from "./kind-of.ts";
import { untilByKind } from "./look-queries.ts";

/** The kinds of open sagas are read again after this long, and whenever nothing is due. */
const READ_MS = 1_000;
/** A worker says this often which kinds it can run. */
const REPORT_MS = 60_000;

export class ServedKinds {
  readonly #db: Database;
  readonly #persist: <T>(work: () => Promise<T>) => Promise<T>;
  #open: readonly OpenLane[] = [];
  /** Their lanes, also those of rows that could not be read. */
  #read: ReadonlySet<string> = new Set();
  #readAtMs = -Infinity;
  #reportedAtMs = -Infinity;
  #reported = 0;
  /** Whether a definition, by its own kind, fits an open kind. It never changes. */
  readonly #fits = new Map<string, boolean>();

  constructor(db: Database, persist: <T>(work: () => Promise<T>) => Promise<T>) {
    this.#db = db;
    this.#persist = persist;
  }

  /** Which of these kinds have open sagas with limits by key. */
  limitedOf(served: readonly ServedKind[]): ReadonlySet<string> {
    const kinds = new Set(served.map(({ kind }) => kind));
    const limited = this.#open.filter(({ lane, isLimited }) => isLimited && kinds.has(lane));
    return new Set(limited.map(({ lane }) => lane));
  }

  get isOld(): boolean {
    return this.#db.clock.monotonicMs() - this.#readAtMs >= READ_MS;
  }

  /** Reads the kinds of open sagas. */
  async read(): Promise<void> {
    this.#readAtMs = this.#db.clock.monotonicMs();
    const { dialect } = this.#db;
    const rows = await this.#persist(() => this.#db.query(selectOpenLanes(dialect)));
    this.#read = new Set(rows.map((row) => row["lane"] as string));
    this.#open = rows.flatMap((row) => OPEN_LANE.tryRead(row) ?? []);
  }

  /** What the worker's look reads of sagas of these kinds. The paused names that it has read are passed on. */
  look(kinds: () => readonly KnownKind[], onPaused: (names: ReadonlySet<string>) => void): DutyLook {
    return {
      expression: () => (kinds().length > 0 ? untilByKind(this.#db.dialect) : undefined),
      read: (value) => {
        const [untils, paused] = lookedAt(value);
        onPaused(new Set(paused));
        return this.#looked(untils, kinds());
      },
    };
  }

  /**
   * What the worker's look has found: the milliseconds until the first saga of each open kind is due. A kind that was not read
   * yet counts as due, because the claim reads what it is.
   */
  #looked(untils: Untils, kinds: readonly KnownKind[]): number | undefined {
    const untilMs = Object.entries(untils);
    const all = this.served(kinds);
    const served = new Set(all.map(({ kind }) => kind));
    const limited = this.limitedOf(all);
    const isKnown = (lane: string): boolean => {
      const kind = kindOfLane(lane);
      return served.has(kind) ? lane === kind || limited.has(kind) : this.#read.has(kind);
    };
    if (untilMs.some(([lane]) => !isKnown(lane))) {
      this.#readAtMs = -Infinity;
      return 0;
    }
    this.#readAtMs = this.#db.clock.monotonicMs();
    const ours = untilMs.filter(([lane]) => served.has(kindOfLane(lane))).flatMap(([, ms]) => ms ?? []);
    return ours.length > 0 ? Math.min(...ours) : undefined;
  }

  /** Tells attention which kinds have a worker. If that fails, it is told again at the next claim. */
  async report(served: readonly ServedKind[]): Promise<void> {
    const nowMs = this.#db.clock.monotonicMs();
    if (nowMs - this.#reportedAtMs < REPORT_MS && served.length === this.#reported) return;
    try {
      await this.#db.query(reportServed(this.#db.dialect, served));
      this.#reportedAtMs = nowMs;
      this.#reported = served.length;
    } catch {
      // A claim must not fail for it.
    }
  }

  served(kinds: readonly KnownKind[]): readonly ServedKind[] {
    const served = new Map<string, ServedKind>();
    const add = (kind: string, { name, version }: Pick<OpenLane, "name" | "version">, plan: string): void =>
      void served.set(kind, { kind, name, version, plan });
    for (const known of kinds) {
      const own = kindOf(known.name, known.version, known.plan);
      const plan = encodePlan(known.plan);
      add(own, known, plan);
      for (const open of this.#open)
        if (open.name === known.name && open.version === known.version && this.#isFit(own, open, known))
          add(open.lane, open, open.plan);
    }
    return [...served.values()];
  }

  #isFit(own: string, { lane, plan }: OpenLane, known: KnownKind): boolean {
    const key = `${own} ${lane}`;
    const found = this.#fits.get(key) ?? fits(plan, known);
    this.#fits.set(key, found);
    return found;
  }
}

/** A plan that cannot be read is claimed, so that the saga is stalled and a person looks at it. */
function fits(plan: string, known: KnownKind): boolean {
  try {
    return misfit(decodePlan(plan), known.plan) === undefined;
  } catch {
    return true;
  }
}

/** By kind. Without a number: no saga of the kind can be claimed. */
type Untils = Readonly<Record<string, number | null>>;

/** What a look has read: when the sagas of each kind are due, and the names that are paused. */
function lookedAt(value: unknown): readonly [untils: Untils, paused: readonly string[]] {
  return typeof value === "string" ? (JSON.parse(value) as [Untils, string[]]) : [{}, []];
}
