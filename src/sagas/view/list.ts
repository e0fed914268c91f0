/** Lists of sagas in code: the filters that a caller gives, and what a saga is in a list. */
import type { Count } from "../../core/count.ts";
import { AmendsError } from "../../core/errors.ts";
import { isName } from "../../core/identity.ts";
import { refuseUnknown } from "../../core/options.ts";
import { sagaMachine, type SagaStatus } from "../../core/saga/machine.ts";
import { readAttributes, type AttributeValue } from "../../core/start/attributes.ts";
import type { Reader } from "../../storage/read/reader.ts";
import type { SagaDefinition } from "../define/definition.ts";
import type { SagaReference } from "../define/reference.ts";
import { countListed, listSagas, type SagaFilter } from "../read/list.ts";
import type { SagaSummary } from "../read/summary.ts";

/** Which sagas are meant: a definition, a reference, or a name. Every version of it is meant. */
export type SagaKind<Attribute extends string = string> =
  | string
  | SagaDefinition<unknown, unknown, unknown, unknown, Attribute>
  | SagaReference<unknown, unknown, unknown, unknown, Attribute>;

/** Filters of sagas. A saga is meant if all of them fit; without any, every saga is. */
export interface SagaQuery<Attribute extends string = string> {
  /** Only sagas of this definition, reference or name. A definition types the names of attributes. */
  readonly saga?: SagaKind<Attribute>;
  /** Only sagas in this state, or in one of these. */
  readonly status?: SagaStatus | readonly SagaStatus[];
  /** Only sagas that were started with each of these attributes. 1 is not "1". */
  readonly attributes?: Readonly<Partial<Record<NoInfer<Attribute>, AttributeValue>>>;
  /** Only sagas that failed, stalled or keep failing with this label: the `error` of an item. */
  readonly error?: string;
  /** Only sagas that last changed at this instant or later. The last change of an ended saga is its end. */
  readonly since?: Date;
  /** Only sagas that last changed before this instant. */
  readonly until?: Date;
}

/** The options of `amends.list`. */
export interface SagaListOptions<Attribute extends string = string> extends SagaQuery<Attribute> {
  /** The largest number of items, 1 to 500. Default: 50. */
  readonly limit?: number;
  /** The `next` of the previous page. Default: the first page. */
  readonly after?: string;
}

/** A saga in a list. `amends.inspect(id)` reads all of it. */
export interface SagaItem<Attribute extends string = string> {
  /** The saga's id. */
  readonly id: string;
  /** The name of its definition. */
  readonly name: string;
  /** The version of its definition. */
  readonly version: number;
  /** The saga's state. */
  readonly status: SagaStatus;
  /** The id of the completed saga that it takes back; undefined if it is not a reversal. */
  readonly reverses: string | undefined;
  /** The id of the saga that takes it back; undefined if none does. */
  readonly reversedBy: string | undefined;
  /** The attributes that it was started with. A reversal has none. */
  readonly attributes: Readonly<Partial<Record<Attribute, AttributeValue>>>;
  /** Its priority among due sagas, 0 to 10. */
  readonly priority: number;
  /** When it was started, by the database's clock. */
  readonly createdAt: Date;
  /** When its state, its worker or its due time last changed: for an ended saga, when it ended. */
  readonly updatedAt: Date;
  /** When it is due next, or when its lease ends; undefined if it has ended or is stalled. */
  readonly dueAt: Date | undefined;
  /** True while it is PENDING and the time that its start named has not come. */
  readonly isScheduled: boolean;
  /** True while it is paused by itself. `amends.paused()` says which names are. */
  readonly isPaused: boolean;
  /** The label of why it failed, stalled or keeps failing; undefined if nothing is wrong with it. */
  readonly error: string | undefined;
  /** The step at which that happened; undefined if there is none. */
  readonly step: string | undefined;
}

/** One page of sagas. */
export interface SagaList<Attribute extends string = string> {
  /** The sagas of this page. With several attributes, or an attribute and an error, a page may have fewer than `limit` and a next one. */
  readonly items: readonly SagaItem<Attribute>[];
  /** Pass it as `after` to get the next page; undefined on the last one. */
  readonly next: string | undefined;
}

const LIMIT = 50;
const LIMIT_MAX = 500;
/** Counting stops here. */
export const COUNT_MAX = 10_000;

/** The filters, for functions that take them beside other options. */
export const QUERY: readonly string[] = ["saga", "status", "attributes", "error", "since", "until"];

export async function listItems<Attribute extends string>(
  reader: Reader,
  options: SagaListOptions<Attribute>,
): Promise<SagaList<Attribute>> {
  const where = "amends.list";
  refuseUnknown(options, [...QUERY, "limit", "after"], where);
  const { limit = LIMIT, after } = options;
  if (!Number.isInteger(limit) || limit < 1 || limit > LIMIT_MAX)
    throw bad(where, `\`limit\` must be a whole number from 1 to ${LIMIT_MAX}`, "limit");
  const filter = readQuery(options, where);
  const { items, next } = await listSagas(reader, filter, { limit, after, archived: false });
  return { items: items.map((saga) => toItem<Attribute>(saga)), next };
}

export async function countItems(reader: Reader, query: SagaQuery): Promise<Count> {
  const where = "amends.count";
  refuseUnknown(query, QUERY, where);
  return countListed(reader, readQuery(query, where), COUNT_MAX);
}

export function readQuery(query: SagaQuery, where: string): SagaFilter {
  const { saga, error } = query;
  const attributes = readAttributes(query.attributes, declaredBy(saga), where);
  if (error !== undefined && (typeof error !== "string" || error === "" || error.includes("\0")))
    throw bad(where, "`error` must be the label of an error", "error");
  return {
    statuses: readStatuses(query.status, where),
    names: saga === undefined ? undefined : [nameOf(saga, where)],
    attributes,
    error,
    fromMs: readInstant(query.since, "since", where),
    toMs: readInstant(query.until, "until", where),
  };
}

function declaredBy(saga: SagaKind | undefined): readonly string[] | undefined {
  return typeof saga === "object" && saga !== null ? saga.settings?.attributes : undefined;
}

/** The name that is meant by a definition, a reference or a name. */
export function nameOf(saga: SagaKind, where: string): string {
  const name: unknown = typeof saga === "object" && saga !== null ? saga.name : saga;
  if (isName(name)) return name;
  throw bad(where, "`saga` must be a definition, a reference or a name", "saga");
}

function readStatuses(given: SagaQuery["status"], where: string): readonly SagaStatus[] {
  if (given === undefined) return sagaMachine.states;
  const statuses = [...new Set(typeof given === "string" ? [given] : given)];
  if (statuses.length > 0 && statuses.every((status) => sagaMachine.states.includes(status))) return statuses;
  throw bad(where, `\`status\` must be one or some of ${sagaMachine.states.join(", ")}`, "status");
}

export function readInstant(given: Date | undefined, field: string, where: string): number | undefined {
  if (given === undefined) return undefined;
  const ms = given instanceof Date ? given.getTime() : Number.NaN;
  if (Number.isFinite(ms)) return Math.max(0, ms);
  throw bad(where, `\`${field}\` must be a valid Date`, field);
}

function bad(where: string, why: string, field: string): AmendsError {
  return new AmendsError("BAD_OPTION", `${where}: ${why}.`, { field });
}

function toItem<Attribute extends string>(saga: SagaSummary): SagaItem<Attribute> {
  const {
    id,
    name,
    version = 1,
    status,
    priority,
    isScheduled,
    isPaused,
    error,
    dueAtMs,
    reverses,
    reversedBy,
  } = saga;
  return {
    id,
    name,
    version,
    status,
    reverses,
    reversedBy,
    attributes: saga.attributes as SagaItem<Attribute>["attributes"],
    priority,
    createdAt: new Date(saga.createdAtMs),
    updatedAt: new Date(saga.updatedAtMs),
    dueAt: dueAtMs === undefined ? undefined : new Date(dueAtMs),
    isScheduled,
    isPaused,
    error: error?.label,
    step: error?.step,
  };
}
