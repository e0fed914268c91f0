/**
 * Runs sagas in this process: those that are started here, and those that are claimed. Their slots and leases belong to
 * the pool, as for every kind of row; what one saga does belongs to the driver.
 */
import { AmendsError, classify } from "../../core/errors.ts";
import type { SagaStatus } from "../../core/saga/machine.ts";
import type { Database } from "../../storage/database.ts";
import type { AnySaga } from "../define/definition.ts";
import { Breakers } from "./breakers.ts";
import { drive, stall } from "../driver/drive.ts";
import type { Journal, SagaRecord } from "../journal/journal.ts";
import { Children } from "./children.ts";
import { Ends } from "./ends.ts";
import type { DutyLook } from "../../runtime/duty.ts";
import { LeasePool } from "../../runtime/lease-pool.ts";
import type { Lease } from "../../runtime/lease.ts";
import { SagaEvents } from "./saga-events.ts";
import type { Registry } from "../define/registry.ts";
import { JournalHost, type HostTools, type Renewal } from "./journal-host.ts";
import { refusalOf } from "./refusal.ts";
import { Starts } from "../start/starts.ts";
import { outlastCalls } from "../driver/orphaned-calls.ts";
import type { Departure } from "../driver/run.ts";

export interface EngineOptions extends Pick<
  HostTools,
  "clock" | "middleware" | "errorCodes" | "keepMessages" | "graceMs" | "newId" | "onRefused" | "warn"
> {
  readonly journal: Journal;
  readonly database: Database | undefined;
  readonly registry: Registry;
  readonly leaseMs: number;
  /** The name of this start of this process. It is never used again. */
  readonly owner: string;
  /** Called after a saga's stall is durable. */
  readonly onStalled: (saga: JournalHost) => void;
  /** The database has lost lines that a worker wrote. `foundVersion` is undefined if it has lost the saga as well. */
  readonly onRewound: (saga: JournalHost, foundVersion: number | undefined) => void;
  /** An error that is a bug. The saga is claimed again when its lease ends. */
  readonly onBug: (error: unknown) => void;
}

/** Counters of what the sagas of this process did, since it began. */
export interface Counters {
  /** Sagas that were started here. */
  started: number;
  /** Sagas that were claimed here. */
  claimed: number;
  /** Claims of sagas that had lost their worker. */
  recovered: number;
  /** Sagas that completed here. */
  completed: number;
  /** Sagas that failed here, after their compensations. */
  failed: number;
  /** Sagas that stalled here. */
  stalled: number;
  /** Claims that were given back before the saga ended, as on a shutdown. */
  released: number;
  /** Claims that were lost to another worker: the fence held. */
  lost: number;
}

export class Engine {
  readonly pool: LeasePool<JournalHost>;
  readonly sagaEvents: SagaEvents = new SagaEvents();
  readonly ends: Ends = new Ends();
  /** The names of sagas that are paused, as this process knows them. */
  readonly #paused = new Set<string>();
  /** How many of them were paused and resumed here, and how many when the last look began: an older look knows less. */
  #steered = 0;
  #steeredBefore = 0;
  readonly active: Map<string, JournalHost> = new Map();
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
  readonly #tools: HostTools;
  readonly starts: Starts;

  constructor(options: EngineOptions) {
    const { journal, clock, leaseMs } = options;
    this.#options = options;
    this.pool = new LeasePool<JournalHost>({
      name: "sagas",
      clock,
      leaseMs,
      look: this.#lookIn(journal),
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
      isDraining: () => this.pool.isDraining,
      isPaused: (name) => this.#paused.has(name),
      dueIn: (ms) => this.pool.dueIn(ms),
      children: options.journal.family && new Children(options.journal, options.journal.family, this),
      onRewound: (saga, foundVersion) => {
        if (!saga.isRewound) options.onRewound(saga, foundVersion);
        saga.isRewound = true;
      },
    };
    this.starts = new Starts({
      ...options,
      host: this.#tools,
      pool: this.pool,
      active: this.active,
      onCreated: (count) => void (this.counters.started += count),
    });
    options.database?.onReplaced?.(() => void this.#review(this.active.values()));
  }

  /** A saga is due after this long: a worker of this process looks for it then. */
  dueIn(ms: number): void {
    this.pool.dueIn(ms);
  }

  async #claim(limit: number, except: readonly string[]): Promise<readonly JournalHost[]> {
    const { journal, registry, owner, leaseMs } = this.#options;
    const kinds = registry.kinds();
    if (kinds.length === 0) return [];
    const steered = this.#steered;
    const records = await journal.claim(kinds, limit, owner, leaseMs, except);
    // A claim takes nothing of a paused name: another process has resumed it, and no look has said so yet.
    if (steered === this.#steered) for (const { name } of records) this.#paused.delete(name);
    return records.map((record) => this.#resume(record));
  }

  #resume(record: SagaRecord): JournalHost {
    this.counters.claimed++;
    if (record.recoveryAttempts > 0) this.counters.recovered++;
    const definition = this.#options.registry.get(record.name, record.definition) as AnySaga;
    return new JournalHost(this.#tools, record, definition, refusalOf(record, definition));
  }

  async #carry(saga: JournalHost, lease: Lease): Promise<void> {
    const { run, refusal } = saga;
    saga.attach(lease);
    this.active.set(saga.id, saga);
    try {
      saga.departure = await (refusal ? stall(saga, run, refusal) : drive(saga, run));
    } catch (error) {
      if (!(error instanceof AmendsError) || classify(error) === "permanent") this.#options.onBug(error);
      saga.departure = "lost";
    }
    if (saga.departure === "lost") lease.stop("lost");
    this.#left(saga, saga.departure);
    if (run.orphans?.any)
      lease.keepOrphan(outlastCalls(saga, run).catch((error: unknown) => this.#options.onBug(error)));
  }

  #left(saga: JournalHost, departure: Departure): void {
    const { id, version, state } = saga;
    if (this.active.get(id) === saga) this.active.delete(id);
    this.#count(state.status, departure);
    if (saga.isLimited) this.pool.dueIn(0);
    if (departure === "ended" && state.status === "STALLED") this.#options.onStalled(saga);
    const { name, version: definition } = saga.definition;
    if (departure === "ended") this.ends.tell({ id, name, version: definition, state });
    this.sagaEvents.publish(id, { version, entry: undefined, state });
  }

  #count(status: SagaStatus, departure: Departure): void {
    if (departure !== "ended") this.counters[departure]++;
    else if (status === "COMPLETED") this.counters.completed++;
    else if (status === "FAILED") this.counters.failed++;
    else this.counters.stalled++;
  }

  /** A renewal also reads each saga's version: a line that this worker has not written is an operator's. */
  async #renew(sagas: readonly JournalHost[]): Promise<ReadonlyMap<string, number>> {
    const renewals = sagas.map((saga) => saga.renewal());
    const claims = renewals.map(({ claim }) => claim);
    const versions = await this.#options.journal.renew(claims, this.#options.leaseMs);
    const missing = sagas.filter(({ id }) => !versions.has(id));
    for (const [index, saga] of sagas.entries()) {
      const version = versions.get(saga.id);
      if (version !== undefined) saga.renewed(renewals[index] as Renewal, version);
    }
    // Another worker has such a saga, it has just ended, or the database has lost it.
    if (missing.length > 0) void this.#review(missing);
    return versions;
  }

  /**
   * The database was replaced, or claims are gone: these sagas are read again. A saga of which the database has lost lines is
   * lost, and its calls are stopped. After a replacement its checkpoints are refused until the host has read it again.
   */
  async #review(sagas: Iterable<JournalHost>): Promise<void> {
    for (const saga of sagas) {
      // Checkpoints may be written during the read.
      const { version } = saga;
      const found = await this.#options.journal.load(saga.id).catch((error: unknown) => error as Error);
      // A saga that cannot be read now is checked at its next checkpoint, or when its lease is renewed.
      if (found instanceof Error) continue;
      const isRewound = !found || found.version < version;
      if (isRewound) this.#tools.onRewound(saga, found?.version);
      if (isRewound || found.token !== saga.token) saga.lease.stop("lost");
    }
  }

  /** The sagas of this name were paused, or resumed, through this process: it does not wait for its next look. */
  setPaused(name: string, isPaused: boolean): void {
    if (isPaused) this.#paused.add(name);
    else this.#paused.delete(name);
    this.#steered++;
    this.pool.dueIn(0);
  }

  /** A look also says which names are paused. */
  #lookIn(journal: Journal): DutyLook | undefined {
    const look = journal.look?.(
      () => this.#options.registry.kinds(),
      (names) => this.#heardPaused(names),
    );
    if (!look) return undefined;
    return {
      expression: () => {
        this.#steeredBefore = this.#steered;
        return look.expression();
      },
      read: (value) => look.read(value),
    };
  }

  #heardPaused(names: ReadonlySet<string>): void {
    if (this.#steered !== this.#steeredBefore) return;
    for (const name of this.#paused) if (!names.has(name)) this.#paused.delete(name);
    for (const name of names) this.#paused.add(name);
  }

  /** An operator added a line through this process that leaves the calls under way: the driver reads the saga when they have ended. */
  noteChange(id: string): void {
    this.active.get(id)?.noteChange();
  }

  /** An operator added a line through this process: the call is stopped at once, not at the next renewal. */
  interrupt(id: string): void {
    this.active.get(id)?.interrupt();
  }
}
