/**
 * Runs sagas in this process: those that are started here, and those that are claimed. It knows how many it may run,
 * keeps their leases alive, and lets go of those that it lost.
 */
import { checkLease } from "../../core/backoff.ts";
import { claimToken } from "../../core/claim-token.ts";
import { AmendsError, classify } from "../../core/errors.ts";
import { checkId } from "../../core/identity.ts";
import { canonicalJson } from "../../core/json.ts";
import { openingLines } from "../../core/saga/group.ts";
import { misfit } from "../../core/saga/plan.ts";
import { within } from "../../storage/clock.ts";
import type { Database, Session } from "../../storage/database.ts";
import { draw } from "../../storage/draw.ts";
import type { AnySaga } from "../define/definition.ts";
import type { DriveTools } from "./checkpoint.ts";
import { Breakers } from "./breakers.ts";
import { drive, stall } from "./drive.ts";
import { throughSchema } from "../define/input.ts";
import { interestsOf } from "../define/interests.ts";
import type { Journal, NewSaga, SagaRecord } from "../journal/journal.ts";
import type { Duty } from "../../runtime/duty.ts";
import { RENEWALS, renewOrLetGo } from "../../runtime/renewal.ts";
import { freshRecord } from "../journal/fresh-record.ts";
import { SagaEvents } from "./saga-events.ts";
import type { Registry } from "../define/registry.ts";
import { outlast } from "./returning.ts";
import { Run, type Departure } from "./run.ts";

export interface EngineOptions extends Pick<
  DriveTools,
  "clock" | "middleware" | "errorCodes" | "graceMs" | "newId"
> {
  readonly journal: Journal;
  readonly database: Database | undefined;
  readonly registry: Registry;
  readonly leaseMs: number;
  /** Names this start of this process: never used again. */
  readonly owner: string;
  /** After a saga has stalled, durably. */
  readonly onStalled: (run: Run) => void;
  /** The database has forgotten what a run wrote; `foundVersion` is undefined where it has forgotten the saga as well. */
  readonly onRewound: (run: Run, foundVersion: number | undefined) => void;
  /** This tick failed in a way that nobody foresaw; the lease heals it. */
  readonly onBug: (error: unknown) => void;
}

export interface Counters {
  started: number;
  claimed: number;
  recovered: number;
  completed: number;
  failed: number;
  stalled: number;
  released: number;
  /** Claims that were lost to another worker: the fence held. */
  lost: number;
}

/** How long a call that was told to stop may take to do so, when the worker shuts down. */
const GRACE_MS = 1_000;

/** When to look for what a caller's transaction has started, where no notice comes. */
export const COMMIT_SOON_MS = 25;

/** What `start` found or made. */
export interface Started {
  readonly id: string;
  readonly created: boolean;
  /** Runs in this process. */
  readonly run: Run | undefined;
  /** The version from which a reader has seen nothing yet. */
  readonly sinceVersion: number;
}

export class Engine implements Duty {
  readonly name = "sagas";
  readonly renewEveryMs: number;
  readonly sagaEvents: SagaEvents = new SagaEvents();
  readonly active: Map<string, Run> = new Map();
  readonly counters: Counters = {
    started: 0,
    claimed: 0,
    recovered: 0,
    completed: 0,
    failed: 0,
    stalled: 0,
    released: 0,
    lost: 0,
  };
  readonly #options: EngineOptions;
  readonly #tools: DriveTools;
  /** How many sagas this process may run at once: none unless a worker says so. */
  #capacity = 0;
  #starting = 0;
  readonly #starts: Map<string, Promise<unknown>> = new Map();
  /** Everything that takes a place here, also a call that outlived its claim. */
  readonly #runs: Set<Run> = new Set();
  #draining = false;
  #onDue: (ms: number) => void = () => undefined;
  #onFree: () => void = () => undefined;

  constructor(options: EngineOptions) {
    checkLease(options.leaseMs, "The lease of sagas");
    this.#options = options;
    this.renewEveryMs = options.leaseMs / RENEWALS;
    this.#tools = {
      ...options,
      sagaEvents: this.sagaEvents,
      breakers: new Breakers(options.clock),
      draining: () => this.#draining,
      dueIn: (ms) => this.#onDue(ms),
      onRewound: (run, foundVersion) => {
        if (!run.isRewound) options.onRewound(run, foundVersion);
        run.isRewound = true;
      },
    };
    options.database?.onReplaced?.(() => void this.#review());
  }

  /** A worker takes over: up to so many sagas run here, and it is told when one becomes due and when a place is free. */
  accept(capacity: number, onDue: (ms: number) => void, onFree: () => void): void {
    this.#capacity = capacity;
    this.#draining = false;
    this.#onDue = onDue;
    this.#onFree = onFree;
  }

  get free(): number {
    return this.#draining ? 0 : Math.max(0, this.#capacity - this.#runs.size - this.#starting);
  }

  /** How many to claim: half of what is free, so that a claim under way leaves room for what is started here meanwhile. */
  get room(): number {
    return Math.ceil(this.free / 2);
  }

  async start(
    definition: AnySaga,
    given: unknown,
    id: string | undefined,
    session: Session | undefined,
  ): Promise<Started> {
    this.#options.registry.require(definition);
    const input = await throughSchema(
      definition.schema,
      given,
      `The input of saga ${definition.name}`,
      "(input)",
    );
    const own = session === undefined && this.free > 0;
    const sagaId = id === undefined ? this.#options.newId() : checkId(id, "The id of a saga");
    const saga: NewSaga = {
      id: sagaId,
      name: definition.name,
      definition: definition.version,
      input,
      plan: definition.plan,
      deadlineMs: definition.settings.deadlineMs,
      owner: own ? this.#options.owner : undefined,
      token: own ? claimToken(1, draw()) : 0,
      leaseMs: this.#options.leaseMs,
      interests: interestsOf(definition, sagaId, input),
    };
    if (own) this.#starting++;
    try {
      return await this.#inTurn(saga.id, id !== undefined, () =>
        this.#create(definition, saga, own, session),
      );
    } catch (error) {
      throw withId(error, saga.id);
    } finally {
      if (own) this.#starting--;
    }
  }

  /** Starts of one id wait for each other, so that it is known which of them runs the saga. */
  async #inTurn<T>(id: string, isChosen: boolean, work: () => Promise<T>): Promise<T> {
    if (!isChosen) return work();
    const before = this.#starts.get(id);
    const mine = before ? before.then(work, work) : work();
    this.#starts.set(id, mine);
    try {
      return await mine;
    } finally {
      if (this.#starts.get(id) === mine) this.#starts.delete(id);
    }
  }

  async #create(
    definition: AnySaga,
    saga: NewSaga,
    own: boolean,
    session: Session | undefined,
  ): Promise<Started> {
    const { journal, database } = this.#options;
    const epoch = database?.epoch ?? 0;
    const created = await (session ? journal.createIn(session, saga) : journal.create(saga));
    if (!created) return this.#existing(saga, session);
    this.counters.started++;
    // A caller's transaction commits a little later, and nobody tells us when.
    if (!own) this.#onDue(session ? COMMIT_SOON_MS : 0);
    const run = own ? this.#launch(freshRecord(saga, epoch), definition) : undefined;
    return { id: saga.id, created: true, run, sinceVersion: 0 };
  }

  /** An id that exists: the same saga with the same input goes on, or has ended; anything else is a conflict. */
  async #existing(saga: NewSaga, session: Session | undefined): Promise<Started> {
    const isHere = this.active.has(saga.id);
    const record = await this.#options.journal.load(saga.id, session);
    if (!record)
      throw new AmendsError("SAGA_NOT_FOUND", "The saga was removed in this very moment. Start it again.", {
        id: saga.id,
      });
    const same =
      record.name === saga.name && canonicalJson(record.input) === canonicalJson(JSON.parse(saga.input));
    if (!same) {
      const what = record.name === saga.name ? "other input" : `the name ${record.name}`;
      throw new AmendsError(
        "SAGA_CONFLICT",
        `A saga with this id exists with ${what}. Use another id, or start it with the same name and input to get its outcome.`,
        { id: saga.id, name: record.name },
      );
    }
    // Our own commit, whose answer was lost on the way: nobody else runs it, so it runs here.
    const isUntouched = record.begun && record.version === 1 + openingLines(record.plan).length;
    const isOurs = record.owner === this.#options.owner && isUntouched;
    const ours = isOurs && !isHere && !this.active.has(saga.id);
    const known = this.#options.registry.get(record.name, record.definition);
    const run = ours && known ? this.#launch(record, known) : this.active.get(saga.id);
    return { id: saga.id, created: ours, run, sinceVersion: ours ? 0 : record.version };
  }

  /** Something has made a saga due, now or after this long: a worker of this process looks for it. */
  dueIn(ms: number): void {
    this.#onDue(ms);
  }

  /** Claims what is due and there is room for, and runs it. Returns the runs. */
  async claim(limit: number = this.room): Promise<readonly Run[]> {
    const { journal, registry, owner, leaseMs } = this.#options;
    const kinds = registry.kinds();
    if (limit <= 0 || kinds.length === 0) return [];
    this.#starting += limit; // these places are taken until it is known how many the claim fills
    try {
      const records = await journal.claim(kinds, limit, owner, leaseMs, this.#stillHeard());
      return records.map((record) => this.#resume(record));
    } finally {
      this.#starting -= limit;
    }
  }

  /** Sagas that this process has lost, but whose calls still run here: it must not call beside them. */
  #stillHeard(): readonly string[] {
    const heard: string[] = [];
    for (const run of this.#runs)
      if (run.stopReason === "lost" || run.departure === "lost") heard.push(run.id);
    return heard;
  }

  #resume(record: SagaRecord): Run {
    this.counters.claimed++;
    if (record.recoveryAttempts > 0) this.counters.recovered++;
    const definition = this.#options.registry.get(record.name, record.definition) as AnySaga;
    const difference = misfit(record.plan, definition.plan);
    const { recoveryMax } = definition.settings;
    if (difference !== undefined) {
      return this.#launch(record, definition, (run) =>
        stall(this.#tools, run, { kind: "misfit", label: "DefinitionMisfit", reason: difference }),
      );
    }
    if (record.recoveryAttempts > recoveryMax) {
      return this.#launch(record, definition, (run) =>
        stall(this.#tools, run, {
          kind: "recoveries",
          label: "RecoveriesExhausted",
          reason: `its worker was lost ${record.recoveryAttempts} times`,
        }),
      );
    }
    return this.#launch(record, definition);
  }

  #launch(
    record: Omit<SagaRecord, "entries">,
    definition: AnySaga,
    work: (run: Run) => Promise<void> = (run) => drive(this.#tools, run),
  ): Run {
    const run = new Run(record, definition, this.#options.clock.monotonicMs());
    this.active.set(run.id, run);
    this.#runs.add(run);
    void this.#carry(run, work);
    return run;
  }

  async #carry(run: Run, work: (run: Run) => Promise<void>): Promise<void> {
    try {
      await work(run);
    } catch (error) {
      if (!(error instanceof AmendsError) || classify(error) === "permanent") this.#options.onBug(error);
      run.depart("lost");
    }
    this.#left(run);
    if (run.orphans?.any)
      await outlast(this.#tools, run).catch((error: unknown) => this.#options.onBug(error));
    this.#runs.delete(run);
    this.#onFree();
  }

  #left(run: Run): void {
    if (this.active.get(run.id) === run) this.active.delete(run.id);
    this.#count(run, run.departure ?? "lost");
    if (run.departure === "ended" && run.state.status === "STALLED") this.#options.onStalled(run);
    this.sagaEvents.publish(run.id, { version: run.version, entry: undefined, state: run.state });
  }

  #count({ state }: Run, departure: Departure): void {
    if (departure !== "ended") this.counters[departure]++;
    else if (state.status === "COMPLETED") this.counters.completed++;
    else if (state.status === "FAILED") this.counters.failed++;
    else this.counters.stalled++;
  }

  /** Renews the leases of which an eighth is over. Called as often, so that none gets older than a quarter. */
  async renew(): Promise<void> {
    const { clock, journal, leaseMs } = this.#options;
    const now = clock.monotonicMs();
    const due = [...this.active.values()]
      .toSorted(byId)
      .filter((run) => run.stopReason !== "lost" && now - run.leasedAtMs >= leaseMs / RENEWALS);
    if (due.length === 0) return;
    const holds = due.map(({ id, token }) => ({ id, token }));
    const held = await renewOrLetGo(clock, leaseMs, due, () => journal.renew(holds, leaseMs));
    for (const run of due) {
      const version = held.get(run.id);
      if (version !== undefined) run.leasedAtMs = now;
      else if (this.active.get(run.id) === run) run.stop("lost");
      // Somebody from outside wrote a line that this worker has not seen: the call should hear of it.
      if (version !== undefined && version > Math.max(run.version, run.sentVersion)) run.stop("cancelled");
    }
  }

  /**
   * The database was replaced: every saga that runs here is read again. What it no longer knows as this worker does is
   * let go, and its call is told; whatever a run still wants to write is refused until it was read again.
   */
  async #review(): Promise<void> {
    for (const run of this.active.values()) {
      const found = await this.#options.journal.load(run.id).catch((error: unknown) => error as Error);
      // What cannot be read now is looked at when it is written to, or when its lease is renewed.
      if (found instanceof Error || this.active.get(run.id) !== run) continue;
      if (!found || found.version < run.version) this.#tools.onRewound(run, found?.version);
      if (!found || found.version < run.version || found.token !== run.token) run.stop("lost");
    }
  }

  /** Somebody asked in this very process: the call need not wait for the next renewal to hear of it. */
  interrupt(id: string): void {
    this.active.get(id)?.stop("cancelled");
  }

  /** Nothing new begins. Resolves when everything has left, or when the deadline has passed and calls were stopped. */
  async drain(deadlineMs: number): Promise<void> {
    this.#draining = true;
    const { clock, journal } = this.#options;
    const goneWithin = (ms: number): Promise<void> =>
      within(clock, ms, Promise.all([...this.#runs].map((run) => run.gone)));
    await goneWithin(deadlineMs);
    for (const run of this.#runs) run.stop("shutdown");
    await goneWithin(Math.min(deadlineMs, GRACE_MS));
    this.#capacity = 0;
    // A database that stays away must not keep the process: what is not durable is not booked, and the leases heal it.
    await within(clock, GRACE_MS, journal.drained());
  }
}

/** Rows are locked in this order by everybody, so that nobody waits in a circle. */
function byId(a: Run, b: Run): number {
  return a.id < b.id ? -1 : 1;
}

/** A start that could not be confirmed may be in the database: whoever tries again needs its id. */
function withId(error: unknown, id: string): unknown {
  if (!(error instanceof AmendsError) || error.code !== "DATABASE_UNREACHABLE") return error;
  return new AmendsError(error.code, error.message, { ...error.details, id }, { cause: error.cause });
}
