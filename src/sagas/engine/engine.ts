/**
 * Runs sagas in this process: those that are started here, and those that are claimed. Their slots and leases belong to
 * the pool, as for every kind of row; what one saga does belongs to the driver.
 */
import { claimToken } from "../../core/claim-token.ts";
import { AmendsError, classify } from "../../core/errors.ts";
import { checkId } from "../../core/identity.ts";
import { canonicalJson } from "../../core/json.ts";
import { openingLines } from "../../core/saga/group.ts";
import { misfit } from "../../core/saga/plan.ts";
import type { Database, Session } from "../../storage/database.ts";
import { draw } from "../../storage/draw.ts";
import type { AnySaga } from "../define/definition.ts";
import type { DriveTools } from "./checkpoint.ts";
import { Breakers } from "./breakers.ts";
import { drive, stall } from "./drive.ts";
import { throughSchema } from "../define/input.ts";
import { interestsOf } from "../define/interests.ts";
import type { Journal, NewSaga, SagaRecord } from "../journal/journal.ts";
import { COMMIT_SOON_MS } from "../../runtime/duty.ts";
import { LeasePool, type Reservation } from "../../runtime/lease-pool.ts";
import type { Lease } from "../../runtime/lease.ts";
import type { ControlDetails } from "../../core/saga/entry.ts";
import { freshRecord } from "../journal/fresh-record.ts";
import { SagaEvents } from "./saga-events.ts";
import type { Registry } from "../define/registry.ts";
import { outlast } from "./returning.ts";
import { Run, type Departure } from "./run.ts";

export interface EngineOptions extends Pick<
  DriveTools,
  "clock" | "middleware" | "errorCodes" | "keepMessages" | "graceMs" | "newId"
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

/** What `start` found or made. */
export interface Started {
  readonly id: string;
  readonly created: boolean;
  /** Runs in this process. */
  readonly run: Run | undefined;
  /** The version from which a reader has seen nothing yet. */
  readonly sinceVersion: number;
}

export class Engine {
  readonly pool: LeasePool<Run>;
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
  readonly #starts: Map<string, Promise<unknown>> = new Map();

  constructor(options: EngineOptions) {
    const { journal, clock, leaseMs } = options;
    this.#options = options;
    this.pool = new LeasePool<Run>({
      name: "sagas",
      clock,
      leaseMs,
      claim: (limit, except) => this.#claim(limit, except),
      renew: (runs) => this.#renew(runs),
      run: (run, lease) => this.#carry(run, lease),
      drained: () => journal.drained(),
      onBug: options.onBug,
    });
    this.#tools = {
      ...options,
      sagaEvents: this.sagaEvents,
      breakers: new Breakers(clock),
      draining: () => this.pool.isDraining,
      dueIn: (ms) => this.pool.dueIn(ms),
      onRewound: (run, foundVersion) => {
        if (!run.isRewound) options.onRewound(run, foundVersion);
        run.isRewound = true;
      },
    };
    options.database?.onReplaced?.(() => void this.#review());
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
    const sagaId = id === undefined ? this.#options.newId() : checkId(id, "The id of a saga");
    const interests = interestsOf(definition, sagaId, input);
    // Whether and when the caller's own transaction commits is not known here: such a saga is claimed afterwards.
    const slot = session === undefined ? this.pool.reserve(1) : undefined;
    const saga: NewSaga = {
      id: sagaId,
      name: definition.name,
      definition: definition.version,
      input,
      plan: definition.plan,
      deadlineMs: definition.settings.deadlineMs,
      owner: slot ? this.#options.owner : undefined,
      token: slot ? claimToken(1, draw()) : 0,
      leaseMs: this.#options.leaseMs,
      interests,
    };
    try {
      return await this.#inTurn(saga.id, id !== undefined, () =>
        this.#create(definition, saga, slot, session),
      );
    } catch (error) {
      slot?.cancel();
      throw withId(error, saga.id);
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
    slot: Reservation<Run> | undefined,
    session: Session | undefined,
  ): Promise<Started> {
    const { journal, database } = this.#options;
    const epoch = database?.epoch ?? 0;
    const created = await (session ? journal.createIn(session, saga) : journal.create(saga));
    if (!created) return this.#existing(saga, slot, session);
    this.counters.started++;
    if (!slot) this.dueIn(session ? COMMIT_SOON_MS : 0);
    const run = slot && this.#runOf(freshRecord(saga, epoch), definition);
    if (run) slot?.begin([run]);
    return { id: saga.id, created: true, run, sinceVersion: 0 };
  }

  /** An id that exists: the same saga with the same input goes on, or has ended; anything else is a conflict. */
  async #existing(
    saga: NewSaga,
    slot: Reservation<Run> | undefined,
    session: Session | undefined,
  ): Promise<Started> {
    const isHere = this.active.has(saga.id);
    const record = await this.#options.journal.load(saga.id, session);
    if (!record)
      throw new AmendsError("SAGA_NOT_FOUND", "The saga was removed in this very moment. Start it again.", {
        id: saga.id,
      });
    const same =
      record.name === saga.name && canonicalJson(record.input) === canonicalJson(JSON.parse(saga.input));
    if (!same) {
      throw new AmendsError(
        "SAGA_CONFLICT",
        record.name === saga.name
          ? "A saga with this id exists with other input. Use another id, or start it with the same input to get its outcome."
          : `A saga of ${record.name} has this id, and ids are unique over all sagas. Use another id, such as one that begins with "${saga.name}-".`,
        { id: saga.id, name: record.name },
      );
    }
    // Our own commit, whose answer was lost on the way: nobody else runs it, so it runs here.
    const isUntouched = record.begun && record.version === 1 + openingLines(record.plan).length;
    const isOurs = record.owner === this.#options.owner && isUntouched;
    const known = this.#options.registry.get(record.name, record.definition);
    if (slot && known && isOurs && !isHere && !this.active.has(saga.id)) {
      const run = this.#runOf(record, known);
      slot.begin([run]);
      return { id: saga.id, created: true, run, sinceVersion: 0 };
    }
    slot?.cancel();
    return { id: saga.id, created: false, run: this.active.get(saga.id), sinceVersion: record.version };
  }

  /** A saga is due after this long: a worker of this process looks for it then. */
  dueIn(ms: number): void {
    this.pool.dueIn(ms);
  }

  async #claim(limit: number, except: readonly string[]): Promise<readonly Run[]> {
    const { journal, registry, owner, leaseMs } = this.#options;
    const kinds = registry.kinds();
    if (kinds.length === 0) return [];
    const records = await journal.claim(kinds, limit, owner, leaseMs, except);
    return records.map((record) => this.#resume(record));
  }

  #resume(record: SagaRecord): Run {
    this.counters.claimed++;
    if (record.recoveryAttempts > 0) this.counters.recovered++;
    const definition = this.#options.registry.get(record.name, record.definition) as AnySaga;
    return this.#runOf(record, definition, refusalOf(record, definition));
  }

  #runOf(record: Omit<SagaRecord, "entries">, definition: AnySaga, refusal?: ControlDetails): Run {
    return new Run(record, definition, this.#options.clock.monotonicMs(), refusal);
  }

  async #carry(run: Run, lease: Lease): Promise<void> {
    run.attach(lease);
    this.active.set(run.id, run);
    try {
      await (run.refusal ? stall(this.#tools, run, run.refusal) : drive(this.#tools, run));
    } catch (error) {
      if (!(error instanceof AmendsError) || classify(error) === "permanent") this.#options.onBug(error);
      run.depart("lost");
    }
    if (run.departure === "lost") lease.stop("lost");
    this.#left(run);
    if (run.orphans?.any)
      lease.keepOrphan(outlast(this.#tools, run).catch((error: unknown) => this.#options.onBug(error)));
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

  /** A renewal also reads each saga's version: where an operator wrote a line, the call that runs is told. */
  async #renew(runs: readonly Run[]): Promise<ReadonlyMap<string, number>> {
    const versions = await this.#options.journal.renew(runs, this.#options.leaseMs);
    for (const run of runs)
      if ((versions.get(run.id) ?? 0) > Math.max(run.version, run.sentVersion)) run.stop("cancelled");
    return versions;
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
}

/** Why a claimed saga cannot go on: its definition changed under it, or it has lost too many workers. */
function refusalOf({ plan, recoveryAttempts }: SagaRecord, definition: AnySaga): ControlDetails | undefined {
  const difference = misfit(plan, definition.plan);
  if (difference !== undefined) return { kind: "misfit", label: "DefinitionMisfit", reason: difference };
  if (recoveryAttempts <= definition.settings.recoveryMax) return undefined;
  const reason = `its worker was lost ${recoveryAttempts} times`;
  return { kind: "recoveries", label: "RecoveriesExhausted", reason };
}

/** A start that could not be confirmed may be in the database: whoever tries again needs its id. */
function withId(error: unknown, id: string): unknown {
  if (!(error instanceof AmendsError) || error.code !== "DATABASE_UNREACHABLE") return error;
  return new AmendsError(error.code, error.message, { ...error.details, id }, { cause: error.cause });
}
