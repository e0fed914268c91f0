/**
 * Runs sagas in this process: those that are started here, and those that are claimed. Their slots and leases belong to
 * the pool, as for every kind of row; what one saga does belongs to the driver.
 */
import { claimToken } from "../../core/claim-token.ts";
import { AmendsError, classify } from "../../core/errors.ts";
import { checkId } from "../../core/identity.ts";
import { canonicalJson } from "../../core/json.ts";
import { openingLines } from "../../core/saga/group.ts";
import type { SagaStatus } from "../../core/saga/machine.ts";
import type { Database, Session, SyncSession } from "../../storage/database.ts";
import { draw } from "../../storage/draw.ts";
import { atOnce } from "../../storage/joins/at-once.ts";
import type { AnySaga } from "../define/definition.ts";
import { Breakers } from "./breakers.ts";
import { drive, stall } from "../driver/drive.ts";
import { throughSchema } from "../define/input.ts";
import { interestsOf } from "../define/interests.ts";
import { isReference, type AnyReference } from "../define/reference.ts";
import type { Journal, NewSaga, SagaRecord } from "../journal/journal.ts";
import { COMMIT_SOON_MS } from "../../runtime/duty.ts";
import { LeasePool, type Reservation } from "../../runtime/lease-pool.ts";
import type { Lease } from "../../runtime/lease.ts";
import { freshRecord } from "../journal/fresh-record.ts";
import { SagaEvents } from "./saga-events.ts";
import type { Registry } from "../define/registry.ts";
import { JournalHost, type HostTools } from "./journal-host.ts";
import { refusalOf } from "./refusal.ts";
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

type StartedSaga = Pick<AnySaga, "name" | "version" | "schema" | "steps" | "plan" | "settings">;

/** The saga that `start` created or found. */
export interface Started {
  readonly id: string;
  readonly created: boolean;
  /** Set if it runs in this process. */
  readonly run: JournalHost | undefined;
  /** The version from which a reader has seen nothing yet. */
  readonly sinceVersion: number;
}

export class Engine {
  readonly pool: LeasePool<JournalHost>;
  readonly sagaEvents: SagaEvents = new SagaEvents();
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
  readonly #starts: Map<string, Promise<unknown>> = new Map();

  constructor(options: EngineOptions) {
    const { journal, clock, leaseMs } = options;
    this.#options = options;
    this.pool = new LeasePool<JournalHost>({
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
      isDraining: () => this.pool.isDraining,
      dueIn: (ms) => this.pool.dueIn(ms),
      onRewound: (saga, foundVersion) => {
        if (!saga.isRewound) options.onRewound(saga, foundVersion);
        saga.isRewound = true;
      },
    };
    options.database?.onReplaced?.(() => void this.#review(this.active.values()));
  }

  async start(
    wanted: AnySaga | AnyReference,
    given: unknown,
    id: string | undefined,
    session: Session | undefined,
  ): Promise<Started> {
    const definition = this.#definitionOf(wanted);
    const field = `The input of saga ${definition.name}`;
    const checked = throughSchema(definition.schema, given, field, "(input)");
    const input = typeof checked === "string" ? checked : await checked;
    const sagaId = id === undefined ? this.#options.newId() : checkId(id, "The id of a saga");
    // Whether and when the caller's own transaction commits is not known here: such a saga is claimed afterwards.
    // So is a saga of which this process knows nothing but a reference.
    const isOwn = session === undefined && definition.plan.length > 0;
    const slot = isOwn ? (this.pool.reserve(1) ?? (await this.pool.reserveAfterClaim(1))) : undefined;
    const claimed = slot && { owner: this.#options.owner, token: claimToken(1, draw()) };
    const saga = this.#newSaga(definition, sagaId, input, claimed);
    try {
      if (id === undefined) return await this.#create(saga, slot, session);
      return await this.#inTurn(id, () => this.#create(saga, slot, session));
    } catch (error) {
      slot?.cancel();
      throw withId(error, saga.id);
    }
  }

  /** In a caller's synchronous transaction. */
  startNow(
    wanted: AnySaga | AnyReference,
    given: unknown,
    id: string | undefined,
    session: SyncSession,
  ): Started {
    const definition = this.#definitionOf(wanted);
    const field = `The input of saga ${definition.name}`;
    const input = atOnce(throughSchema(definition.schema, given, field, "(input)"), field);
    const sagaId = id === undefined ? this.#options.newId() : checkId(id, "The id of a saga");
    const saga = this.#newSaga(definition, sagaId, input, undefined);
    const found = this.#options.journal.createNow(session, saga);
    if (found !== "created") {
      const { version } = sameSaga(saga, found);
      return { id: sagaId, created: false, run: this.active.get(sagaId), sinceVersion: version };
    }
    this.counters.started++;
    this.dueIn(COMMIT_SOON_MS);
    return { id: sagaId, created: true, run: undefined, sinceVersion: 0 };
  }

  #newSaga(
    definition: StartedSaga,
    id: string,
    input: string,
    claimed: Pick<NewSaga, "owner" | "token"> | undefined,
  ): NewSaga {
    return {
      id,
      name: definition.name,
      definition: definition.version,
      input,
      plan: definition.plan,
      deadlineMs: definition.settings.deadlineMs,
      owner: claimed?.owner,
      token: claimed?.token ?? 0,
      leaseMs: this.#options.leaseMs,
      interests: interestsOf(definition, id, input),
    };
  }

  /** A reference to a saga that is registered here is that saga. Otherwise its steps are not known yet. */
  #definitionOf(wanted: AnySaga | AnyReference): StartedSaga {
    const { registry, database } = this.#options;
    if (!isReference(wanted)) {
      registry.require(wanted);
      return wanted;
    }
    const known = registry.get(wanted.name, wanted.version);
    if (known) return known;
    if (database) return { ...wanted, steps: wanted.waits, plan: [] };
    throw new AmendsError(
      "NOT_SUPPORTED",
      `Saga ${wanted.name} (version ${wanted.version}) is not registered in this process, and a custom \`storage\` cannot take a saga by its reference. Pass its definition in \`sagas\`.`,
    );
  }

  /** Starts of one id wait for each other, so that it is known which of them runs the saga. */
  async #inTurn<T>(id: string, work: () => Promise<T>): Promise<T> {
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
    saga: NewSaga,
    slot: Reservation<JournalHost> | undefined,
    session: Session | undefined,
  ): Promise<Started> {
    const { journal, database } = this.#options;
    const epoch = database?.epoch ?? 0;
    const created = await (session ? journal.createIn(session, saga) : journal.create(saga));
    if (!created) return this.#existing(saga, slot, session);
    this.counters.started++;
    if (!slot) this.dueIn(session ? COMMIT_SOON_MS : 0);
    const definition = slot && this.#options.registry.get(saga.name, saga.definition);
    const run = definition && new JournalHost(this.#tools, freshRecord(saga, epoch), definition);
    if (run) slot?.begin([run]);
    return { id: saga.id, created: true, run, sinceVersion: 0 };
  }

  /** An id that exists: the same saga with the same input goes on, or has ended; anything else is a conflict. */
  async #existing(
    saga: NewSaga,
    slot: Reservation<JournalHost> | undefined,
    session: Session | undefined,
  ): Promise<Started> {
    const isHere = this.active.has(saga.id);
    const record = sameSaga(saga, await this.#options.journal.load(saga.id, session));
    // Our own commit, whose answer was lost: no other worker runs the saga, so it runs here.
    const isUntouched = record.begun && record.version === 1 + openingLines(record.plan).length;
    const isOurs = record.owner === this.#options.owner && isUntouched;
    const known = this.#options.registry.get(record.name, record.definition);
    if (slot && known && isOurs && !isHere && !this.active.has(saga.id)) {
      const run = new JournalHost(this.#tools, record, known);
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

  async #claim(limit: number, except: readonly string[]): Promise<readonly JournalHost[]> {
    const { journal, registry, owner, leaseMs } = this.#options;
    const kinds = registry.kinds();
    if (kinds.length === 0) return [];
    const records = await journal.claim(kinds, limit, owner, leaseMs, except);
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
    if (departure === "ended" && state.status === "STALLED") this.#options.onStalled(saga);
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
    const versions = await this.#options.journal.renew(sagas, this.#options.leaseMs);
    const missing = sagas.filter(({ id }) => !versions.has(id));
    for (const saga of sagas) saga.sawVersion(versions.get(saga.id) ?? 0);
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

  /** An operator added a line through this process: the call is stopped at once, not at the next renewal. */
  interrupt(id: string): void {
    this.active.get(id)?.interrupt();
  }
}

/** A start whose commit was not confirmed may be in the database: the caller needs the id to try again. */
function withId(error: unknown, id: string): unknown {
  if (!(error instanceof AmendsError) || error.code !== "DATABASE_UNREACHABLE") return error;
  return new AmendsError(error.code, error.message, { ...error.details, id }, { cause: error.cause });
}

/** The stored saga with the id of the new one, if they are the same saga. */
function sameSaga(saga: NewSaga, record: SagaRecord | undefined): SagaRecord {
  const { id } = saga;
  if (!record)
    throw new AmendsError("SAGA_NOT_FOUND", "The saga was removed in this very moment. Start it again.", {
      id,
    });
  const { name } = record;
  const isSame = name === saga.name && canonicalJson(record.input) === canonicalJson(JSON.parse(saga.input));
  if (isSame) return record;
  throw new AmendsError(
    "SAGA_CONFLICT",
    name === saga.name
      ? "A saga with this id exists with other input. Use another id, or start it with the same input to get its outcome."
      : `A saga of ${name} has this id, and ids are unique over all sagas. Use another id, such as one that begins with "${saga.name}-".`,
    { id, name },
  );
}
