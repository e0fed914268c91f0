/** `amends.bulk`: one action of an operator on many items. A worker carries it out in the background. */
import { insertAction } from "../audit/action-queries.ts";
import { readItemResults } from "../audit/item-record.ts";
import { itemRecordId } from "../core/bulk/action.ts";
import { bulkMachine } from "../core/bulk/machine.ts";
import { cursor, isInstant, isText, type Page } from "../core/cursor.ts";
import { AmendsError } from "../core/errors.ts";
import { checkNote, recordedNote, type OperatorNote } from "../core/operator-note.ts";
import { refuseUnknown } from "../core/options.ts";
import type { Duty } from "../runtime/duty.ts";
import { retryLimitsOf, type PartContext } from "../runtime/part.ts";
import type { Session } from "../storage/database.ts";
import { retrying, type Reader } from "../storage/read/reader.ts";
import { answerInTime, persist } from "../storage/retry.ts";
import type { BulkTools } from "./carry-out.ts";
import { countItems, itemsAfter } from "./items.ts";
import { insertBulk, listBulks, selectBulk, stopBulk, type NewBulk } from "./queries.ts";
import { readRequest, type BulkItems, type BulkRequest, type CheckedRequest } from "./request.ts";
import { BULK, type BulkRow } from "./rows.ts";
import { BulkRunner } from "./runner.ts";
import { toView, type BulkView } from "./view.ts";

/** What a bulk action would take now. */
export interface BulkPreview {
  /** The number of items, counted up to 10,000. */
  readonly count: number;
  /** False if there may be more than `count`. */
  readonly exact: boolean;
  /** The ids of some of the items. */
  readonly sample: readonly string[];
}

/** Which bulk actions are listed. */
export interface BulkListOptions {
  /** The size of a page, 1 to 500. Default: 50. */
  readonly limit?: number;
  /** The `next` of the previous page. */
  readonly after?: string;
}

/** Why a bulk action is repeated, and the id of the new one. */
export interface RepeatOptions extends OperatorNote {
  /** The id of the new bulk action. Default: a new id. */
  readonly id?: string;
}

const RECORD = "the log of operator actions";
const SAMPLE = 5;
const LIMIT_MAX = 500;
const PLACE = cursor<[atMs: number, id: string]>(isInstant, isText);

/** Bulk actions: `amends.bulk`. */
export class Bulk {
  readonly #host: PartContext;
  readonly #tools: BulkTools;
  readonly #runner: BulkRunner;

  /** @internal */
  constructor(host: PartContext, tools: BulkTools) {
    this.#host = host;
    this.#tools = tools;
    this.#runner = new BulkRunner(host, tools);
  }

  /** @internal */
  get duties(): readonly Duty[] {
    return [this.#runner.pool];
  }

  /** Counts what a bulk action would take now, and names some of the items. Nothing is changed. */
  async preview<Attribute extends string = string>(items: BulkItems<Attribute>): Promise<BulkPreview> {
    const request = await this.#read(items, "bulk.preview");
    const reader = this.#reader;
    const { value: count, exact } = await countItems(reader, request);
    const { items: sample } = await itemsAfter(reader, request, undefined, undefined, SAMPLE);
    return { count, exact, sample };
  }

  /**
   * Starts a bulk action, which a worker carries out in the background, 50 items at a time. Items that arise later are not taken. The
   * same start under the same id is the same bulk action; another one is refused with `BULK_CONFLICT`.
   */
  async start<Attribute extends string = string>(given: BulkRequest<Attribute>): Promise<BulkView> {
    const where = "bulk.start";
    const request = await this.#read(given, where, ["reason", "by", "id"]);
    return this.#start(request, given, given.id, where);
  }

  /**
   * Starts another bulk action over what an ended one has left: the items that its filter finds now, or those of its ids that were not
   * carried out.
   */
  async repeat(id: string, options: RepeatOptions): Promise<BulkView> {
    refuseUnknown(options, ["reason", "by", "id"], "bulk.repeat");
    checkNote(options, RECORD);
    const row = await this.#row(id);
    if (!bulkMachine.isTerminal(row.status))
      throw refused(`The bulk action is ${row.status}. It can be repeated once it is over.`, id);
    const request = JSON.parse(row.request) as CheckedRequest;
    return this.#start(await this.#left(row, request), options, options.id, "bulk.repeat");
  }

  /** Reads a bulk action with its progress. Throws `BULK_NOT_FOUND` if there is none with this id. */
  async get(id: string): Promise<BulkView> {
    return toView(await this.#row(id));
  }

  /** Lists bulk actions, the newest first, page by page. */
  async list(options: BulkListOptions = {}): Promise<Page<BulkView>> {
    refuseUnknown(options, ["limit", "after"], "bulk.list");
    const { limit = 50 } = options;
    if (!Number.isInteger(limit) || limit < 1 || limit > LIMIT_MAX)
      throw new AmendsError(
        "BAD_OPTION",
        `bulk.list: \`limit\` must be a whole number from 1 to ${LIMIT_MAX}.`,
      );
    const reader = this.#reader;
    const place = PLACE.decode(options.after);
    const rows = (await reader.query(listBulks(reader.dialect, limit + 1, place))).map((row) =>
      BULK.read(row),
    );
    const items = rows.slice(0, limit);
    const last = rows.length > limit ? items.at(-1) : undefined;
    return { items: items.map(toView), next: last && PLACE.encode(last.createdAt, last.id) };
  }

  /**
   * Stops a bulk action. The page under way, at most 50 items, is still carried out and counted; what was carried out stays so. Stopping
   * one that is over changes nothing.
   */
  async stop(id: string, note: OperatorNote): Promise<BulkView> {
    refuseUnknown(note, ["reason", "by"], "bulk.stop");
    const checked = checkNote(note, RECORD);
    const { reason, by } = recordedNote(note, RECORD);
    const actionId = this.#host.newId();
    return this.#write(async (session) => {
      const { dialect } = session;
      const row = await locked(session, id);
      if (row.status !== "running") return toView(row);
      await session.query(stopBulk(dialect, id, row.token === 0 ? "withdraw" : "stop", checked));
      const action = { by, action: "stop", target: { kind: "bulk", id }, reason };
      for (const outcome of ["asked", "done"] as const)
        await session.query(insertAction(dialect, actionId, action, outcome, null));
      return toView(await locked(session, id));
    });
  }

  /** @internal */
  close(): Promise<void> {
    return this.#tools.close();
  }

  async #start(
    request: CheckedRequest,
    note: OperatorNote,
    givenId: string | undefined,
    where: string,
  ): Promise<BulkView> {
    const { reason, by } = checkNote(
      { reason: note.reason, ...(note.by !== undefined && { by: note.by }) },
      RECORD,
    );
    const id = givenId === undefined ? this.#host.newId() : checkBulkId(givenId, where);
    const { value: total, exact: isExact } = await countItems(this.#reader, request);
    const { action, kind } = request;
    const bulk = { id, action, kind, request: JSON.stringify(request), reason, by, total, isExact };
    const view = await this.#write((session) => insertOnce(session, bulk));
    this.#runner.pool.dueIn(0);
    return view;
  }

  async #left(row: BulkRow, request: CheckedRequest): Promise<CheckedRequest> {
    if (!request.ids) return request;
    const recordIds = request.ids.map((id) => itemRecordId(row.id, id));
    const results = await readItemResults(this.#reader, recordIds);
    const ids = request.ids.filter((_, index) => results.get(recordIds[index] as string)?.outcome !== "done");
    if (ids.length > 0) return { ...request, ids };
    throw refused("Every item of the bulk action was carried out: nothing is left.", row.id);
  }

  /** Subscriptions are stored by their numbers, whichever of their ids was given. */
  async #read(given: BulkItems, where: string, further?: readonly string[]): Promise<CheckedRequest> {
    const request = readRequest(given, where, further);
    const { filter } = request;
    if (filter?.subscription === undefined) return request;
    const { id: subscription } = await this.#tools.webhooks().subscription(filter.subscription);
    return { ...request, filter: { ...filter, subscription } };
  }

  async #row(id: string): Promise<BulkRow> {
    const reader = this.#reader;
    const [row] = isBulkId(id) ? await reader.query(selectBulk(reader.dialect, id)) : [];
    if (!row) throw notFound(id);
    return BULK.read(row);
  }

  get #reader(): Reader {
    const { database } = this.#host;
    return retrying(database, retryLimitsOf(this.#host, "bulk actions"));
  }

  #write<T>(work: (session: Session) => Promise<T>): Promise<T> {
    const { database } = this.#host;
    const limits = retryLimitsOf(this.#host, "bulk actions");
    return answerInTime(
      database,
      persist(database, () => database.transaction(work), limits),
    );
  }
}

/** Inserts the action and its record, or finds the same one. Safe to repeat. */
async function insertOnce(session: Session, bulk: NewBulk): Promise<BulkView> {
  const { dialect } = session;
  const { id, action, reason, request } = bulk;
  const { by } = recordedNote({ reason, ...(bulk.by !== undefined && { by: bulk.by }) }, RECORD);
  const inserted = await session.query(insertBulk(dialect, bulk));
  const row = await locked(session, id);
  if (inserted.length === 0) {
    if (row.request === request && row.reason === reason && row.by === bulk.by) return toView(row);
    throw new AmendsError(
      "BULK_CONFLICT",
      "A bulk action with this id was started with another action, other items or another reason.",
      { id },
    );
  }
  const recorded = { by, action, target: { kind: "bulk", id }, reason };
  for (const outcome of ["asked", "done"] as const)
    await session.query(insertAction(dialect, `bulk:${id}`, recorded, outcome, null));
  const notice = dialect.notify();
  if (notice) await session.query(notice);
  return toView(row);
}

async function locked(session: Session, id: string): Promise<BulkRow> {
  const [row] = isBulkId(id) ? await session.query(selectBulk(session.dialect, id, true)) : [];
  if (!row) throw notFound(id);
  return BULK.read(row);
}

/** Without a colon: the records of the items are named after it. */
const ID = /^[A-Za-z0-9][\w.-]{0,63}$/;

function isBulkId(id: unknown): id is string {
  return typeof id === "string" && ID.test(id);
}

function checkBulkId(id: unknown, where: string): string {
  if (isBulkId(id)) return id;
  throw new AmendsError(
    "BAD_ID",
    `${where}: \`id\` must be 1 to 64 letters, digits, dots, dashes or underscores, and begin with a letter or a digit.`,
    { field: "id" },
  );
}

function notFound(id: string): AmendsError {
  return new AmendsError("BULK_NOT_FOUND", "There is no bulk action with this id.", { id });
}

function refused(message: string, id: string): AmendsError {
  return new AmendsError("NOT_ALLOWED_NOW", message, { id });
}
