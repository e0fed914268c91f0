/**
 * Starts sagas. Where this process has a free slot, the saga is created as its own and runs at once; otherwise it is recorded, and
 * a worker claims it. An id that exists is the same saga if name and input are the same; anything else is a conflict.
 */
import { claimToken } from "../../core/claim-token.ts";
import { AmendsError } from "../../core/errors.ts";
import { checkId } from "../../core/identity.ts";
import { canonicalJson } from "../../core/json.ts";
import { refuseUnknown } from "../../core/options.ts";
import { openingLines } from "../../core/saga/steps/group.ts";
import { CONTROLS, readControls, type GivenControls } from "../../core/start/controls.ts";
import { opensInMs } from "../../core/start/gate.ts";
import { limitsOf } from "../../core/start/limits.ts";
import { COMMIT_SOON_MS } from "../../runtime/duty.ts";
import type { LeasePool, Reservation } from "../../runtime/lease-pool.ts";
import type { Database, Session, SyncSession } from "../../storage/database.ts";
import { wallMs } from "../../storage/clock.ts";
import { draw } from "../../storage/draw.ts";
import { atOnce } from "../../storage/joins/at-once.ts";
import type { AnySaga } from "../define/definition.ts";
import { throughSchema } from "../define/input.ts";
import { interestsOf } from "../define/interests.ts";
import { isReference, type AnyReference } from "../define/reference.ts";
import type { Registry } from "../define/registry.ts";
import { freshRecord } from "../journal/start/fresh-record.ts";
import type { Founded, Journal, Kind, NewSaga, Parent, SagaRecord } from "../journal/journal.ts";
import { JournalHost, type HostTools } from "../engine/journal-host.ts";

type StartedSaga = Pick<AnySaga, "name" | "version" | "schema" | "steps" | "plan" | "settings">;

/** A start that may still become one of this process. */
type UnclaimedSaga = { -readonly [Field in keyof NewSaga]: NewSaga[Field] };

/** How a saga is to be started. */
export interface StartRequest extends GivenControls {
  /** Undefined: a new one. */
  readonly id?: string | undefined;
}

/** One of several starts. */
export interface StartItem extends StartRequest {
  readonly input: unknown;
}

/** The saga that `start` created or found. */
export interface Started {
  readonly id: string;
  readonly created: boolean;
  /** Set if it runs in this process. */
  readonly run: JournalHost | undefined;
  /** The version from which a reader has seen nothing yet. */
  readonly sinceVersion: number;
}

export interface StartTools {
  readonly journal: Journal;
  readonly database: Database | undefined;
  readonly registry: Registry;
  readonly leaseMs: number;
  readonly owner: string;
  readonly newId: () => string;
  readonly host: HostTools;
  readonly pool: LeasePool<JournalHost>;
  /** The sagas that run in this process, by id. */
  readonly active: ReadonlyMap<string, JournalHost>;
  /** Sagas were created here. */
  onCreated(count: number): void;
}

export class Starts {
  readonly #tools: StartTools;
  readonly #underWay: Map<string, Promise<unknown>> = new Map();

  constructor(tools: StartTools) {
    this.#tools = tools;
  }

  async start(
    wanted: AnySaga | AnyReference,
    given: unknown,
    request: StartRequest,
    session: Session | undefined,
    parent?: Parent,
  ): Promise<Started> {
    const definition = this.#definitionOf(wanted, parent !== undefined);
    const checked = throughSchema(definition.schema, given, inputOf(definition), "(input)");
    const input = typeof checked === "string" ? checked : await checked;
    const saga = this.#newSaga(definition, input, request, "amends.start");
    saga.parent = parent;
    const { pool, registry, host } = this.#tools;
    // Whether and when the caller's own transaction commits is not known here: such a saga is claimed afterwards.
    // So is a saga of which this process knows nothing but a reference, and one that is due later.
    const isKnown = saga.plan.length > 0 && registry.get(saga.name, saga.definition) !== undefined;
    // A saga with limits by key is recorded first: only a claim gives places. One whose name is paused waits.
    const isOwn =
      session === undefined &&
      isKnown &&
      saga.gate === undefined &&
      !saga.limits &&
      !host.isPaused(saga.name);
    const slot = isOwn ? (pool.reserve(1) ?? (await pool.reserveAfterClaim(1))) : undefined;
    if (slot) {
      saga.owner = this.#tools.owner;
      saga.token = claimToken(1, draw());
    }
    try {
      if (session) return this.#founded(request, saga, await this.#createIn(session, saga), true);
      if (request.id === undefined) return await this.#create(request, saga, slot);
      return await this.#inTurn(saga.id, () => this.#create(request, saga, slot));
    } catch (error) {
      slot?.cancel();
      throw withId(error, saga.id);
    }
  }

  /** In a caller's synchronous transaction. */
  startNow(
    wanted: AnySaga | AnyReference,
    given: unknown,
    request: StartRequest,
    session: SyncSession,
  ): Started {
    const definition = this.#definitionOf(wanted);
    const field = inputOf(definition);
    const input = atOnce(throughSchema(definition.schema, given, field, "(input)"), field);
    const saga = this.#newSaga(definition, input, request, "amends.sync.start");
    const [found] = this.#tools.journal.createAllNow(session, [saga], sameSaga);
    return this.#founded(request, saga, found as Founded, true);
  }

  /** All of them or none, in one commit. They are recorded, and workers claim them. */
  async startMany(
    wanted: AnySaga | AnyReference,
    items: readonly StartItem[],
    session: Session | undefined,
  ): Promise<readonly Started[]> {
    const definition = this.#definitionOf(wanted);
    const where = "amends.startMany";
    checkItems(items, where);
    this.#refuseStorage("start several sagas in one commit");
    const sagas: NewSaga[] = [];
    for (const [index, item] of items.entries()) {
      const place = `${where}, item ${index}`;
      const input = await throughSchema(definition.schema, item.input, `${place}: the input`, "(input)");
      sagas.push(this.#newSaga(definition, input, item, place));
    }
    if (sagas.length === 0) return [];
    const founded = await this.#tools.journal.createAll(sagas, sameSaga, session);
    return sagas.map((saga, index) =>
      this.#founded(items[index] as StartItem, saga, founded[index] as Founded, session !== undefined),
    );
  }

  /** The same in a caller's synchronous transaction. */
  startManyNow(
    wanted: AnySaga | AnyReference,
    items: readonly StartItem[],
    session: SyncSession,
  ): readonly Started[] {
    const definition = this.#definitionOf(wanted);
    const where = "amends.sync.startMany";
    checkItems(items, where);
    const sagas = items.map((item, index) => {
      const field = `${where}, item ${index}: the input`;
      const input = atOnce(throughSchema(definition.schema, item.input, field, "(input)"), field);
      return this.#newSaga(definition, input, item, `${where}, item ${index}`);
    });
    if (sagas.length === 0) return [];
    const founded = this.#tools.journal.createAllNow(session, sagas, sameSaga);
    return sagas.map((saga, index) =>
      this.#founded(items[index] as StartItem, saga, founded[index] as Founded, true),
    );
  }

  /** The saga that a start would create, with its input through the schema. Nothing is written. */
  prepare(wanted: AnySaga | AnyReference, given: unknown, id: string): NewSaga | Promise<NewSaga> {
    const definition = this.#definitionOf(wanted);
    const checked = throughSchema(definition.schema, given, inputOf(definition), "(input)");
    const prepared = (input: string): NewSaga => this.#newSaga(definition, input, { id }, "amends.start");
    return typeof checked === "string" ? prepared(checked) : checked.then(prepared);
  }

  /** The same with an input that was checked before; undefined if the saga is not registered here. */
  prepareKnown({ name, version }: Kind, input: string, id: string): NewSaga | undefined {
    const definition = this.#tools.registry.get(name, version);
    return definition && this.#newSaga(definition, input, { id }, "amends.start");
  }

  /** Recorded, without an owner. */
  #newSaga(definition: StartedSaga, input: string, request: StartRequest, where: string): UnclaimedSaga {
    const { id: given } = request;
    const id = given === undefined ? this.#tools.newId() : checkId(given, "The id of a saga");
    const { gate, priority, attributes } = readControls(request, definition.settings.attributes, where);
    if (priority > 0) this.#refuseStorage("keep priorities");
    if (attributes) this.#refuseStorage("find sagas by attributes");
    const { limits: rules } = definition.settings;
    if (rules) this.#refuseStorage("hold sagas back by limits");
    return {
      limits: limitsOf(rules, () => JSON.parse(input) as unknown, `Saga ${definition.name}`),
      gate,
      priority,
      attributes,
      id,
      name: definition.name,
      definition: definition.version,
      input,
      plan: definition.plan,
      deadlineMs: definition.settings.deadlineMs,
      owner: undefined,
      token: 0,
      leaseMs: this.#tools.leaseMs,
      interests: interestsOf(definition, id, input),
      parent: undefined,
    };
  }

  #refuseStorage(what: string): void {
    if (this.#tools.database) return;
    throw new AmendsError(
      "NOT_SUPPORTED",
      `A custom \`storage\` cannot ${what}. Use \`postgres\` or \`sqlite\` for that. Nothing was written.`,
    );
  }

  /**
   * A reference to a saga that is registered here is that saga. Otherwise its steps are not known yet. A child need not be
   * registered here: its parent's definition has it, and another process may run it.
   */
  #definitionOf(wanted: AnySaga | AnyReference, isChild: boolean = false): StartedSaga {
    const { registry, database } = this.#tools;
    if (!isReference(wanted)) {
      if (!isChild || registry.get(wanted.name, wanted.version)) registry.require(wanted);
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
    const before = this.#underWay.get(id);
    const mine = before ? before.then(work, work) : work();
    this.#underWay.set(id, mine);
    try {
      return await mine;
    } finally {
      if (this.#underWay.get(id) === mine) this.#underWay.delete(id);
    }
  }

  async #createIn(session: Session, saga: NewSaga): Promise<Founded> {
    const [founded] = await this.#tools.journal.createAll([saga], sameSaga, session);
    return founded as Founded;
  }

  async #create(
    request: StartRequest,
    saga: NewSaga,
    slot: Reservation<JournalHost> | undefined,
  ): Promise<Started> {
    const { journal, database, registry, host } = this.#tools;
    const epoch = database?.epoch ?? 0;
    if (!(await journal.create(saga))) return this.#existing(request, saga, slot);
    const definition = slot && registry.get(saga.name, saga.definition);
    if (!definition) return this.#founded(request, saga, "created", false);
    this.#tools.onCreated(1);
    const run = new JournalHost(host, freshRecord(saga, epoch), definition);
    slot.begin([run]);
    return { id: saga.id, created: true, run, sinceVersion: 0 };
  }

  /** An id that exists: the same saga with the same input goes on, or has ended; anything else is a conflict. */
  async #existing(
    request: StartRequest,
    saga: NewSaga,
    slot: Reservation<JournalHost> | undefined,
  ): Promise<Started> {
    const { journal, registry, owner, active, host } = this.#tools;
    const isHere = active.has(saga.id);
    const record = sameSaga(saga, await journal.load(saga.id));
    // Our own commit, whose answer was lost: no other worker runs the saga, so it runs here.
    const isUntouched = record.begun && record.version === 1 + openingLines(record.plan).length;
    const isOurs = record.owner === owner && isUntouched;
    const known = registry.get(record.name, record.definition);
    if (slot && known && isOurs && !isHere && !active.has(saga.id)) {
      const run = new JournalHost(host, record, known);
      slot.begin([run]);
      return { id: saga.id, created: true, run, sinceVersion: 0 };
    }
    slot?.cancel();
    return this.#founded(request, saga, record, false);
  }

  /** A start that was recorded without an owner, or that found a saga. */
  #founded({ id: given }: StartRequest, saga: NewSaga, founded: Founded, isJoined: boolean): Started {
    const { pool, active, host } = this.#tools;
    // An id that was made here is new: where it is found, an earlier commit, whose answer was lost, has written it.
    if (founded !== "created" && given !== undefined)
      return { id: saga.id, created: false, run: active.get(saga.id), sinceVersion: founded.version };
    this.#tools.onCreated(1);
    pool.dueIn(opensInMs(saga.gate, wallMs(host.clock)) + (isJoined ? COMMIT_SOON_MS : 0));
    return { id: saga.id, created: true, run: undefined, sinceVersion: 0 };
  }
}

/** More would hold the transaction, and the locks of its rows, for long. */
const ITEMS_MAX = 1_000;

function checkItems(items: readonly StartItem[], where: string): void {
  const refuse = (why: string): never => {
    throw new AmendsError("BAD_OPTION", `${where} ${why}. Nothing was written.`);
  };
  if (!Array.isArray(items)) refuse("needs a list of starts, such as [{ input }]");
  if (items.length > ITEMS_MAX) refuse(`takes at most ${ITEMS_MAX} starts (there are ${items.length})`);
  for (const [index, item] of items.entries())
    refuseUnknown(item, ["input", "id", ...CONTROLS], `${where}, item ${index}`);
}

function inputOf({ name }: StartedSaga): string {
  return `The input of saga ${name}`;
}

/** A start whose commit was not confirmed may be in the database: the caller needs the id to try again. */
function withId(error: unknown, id: string): unknown {
  if (!(error instanceof AmendsError) || error.code !== "DATABASE_UNREACHABLE") return error;
  return new AmendsError(error.code, error.message, { ...error.details, id }, { cause: error.cause });
}

/** The stored saga with the id of the new one, if they are the same saga. How they were started does not matter. */
function sameSaga(saga: NewSaga, record: SagaRecord | undefined): SagaRecord {
  const { id } = saga;
  if (!record)
    throw new AmendsError("SAGA_NOT_FOUND", "The saga was removed in this very moment. Start it again.", {
      id,
    });
  const { name } = record;
  const isSame =
    name === saga.name &&
    canonicalJson(record.input) === canonicalJson(JSON.parse(saga.input)) &&
    (saga.parent === undefined || record.parent?.id === saga.parent.id);
  if (isSame) return record;
  throw new AmendsError(
    "SAGA_CONFLICT",
    name === saga.name
      ? "A saga with this id exists with other input. Use another id, or start it with the same input to get its outcome."
      : `A saga of ${name} has this id, and ids are unique over all sagas. Use another id, such as one that begins with "${saga.name}-".`,
    { id, name },
  );
}
