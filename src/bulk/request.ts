/**
 * What a bulk action is asked to do: the action with its own options, and its items, which are a filter or a list of ids. Everything that
 * cannot be meant is refused here, before anything is counted or written.
 */
import {
  BULK_ACTIONS,
  DEFAULT_STATES,
  IDS_MAX,
  SAGA_STATES,
  type BulkAction,
  type BulkKind,
} from "../core/bulk/action.ts";
import { checkSerial } from "../core/delivery/serial.ts";
import { AmendsError } from "../core/errors.ts";
import { checkId, checkUuid } from "../core/identity.ts";
import { encodeJson } from "../core/json.ts";
import type { OperatorNote } from "../core/operator-note.ts";
import { refuseUnknown } from "../core/options.ts";
import type { SagaStatus } from "../core/saga/machine.ts";
import type { SagaFilter } from "../sagas/read/list.ts";
import { QUERY, readInstant, readQuery, type SagaQuery } from "../sagas/view/list.ts";

/** The items of a bulk action on sagas: filters as those of `amends.list`, of which at least one is given, or ids. */
export interface BulkSagas<Attribute extends string = string> extends SagaQuery<Attribute> {
  /** The ids of sagas, at most 10,000, instead of filters. */
  readonly ids?: readonly string[];
}

/** Retries stalled sagas. */
export interface BulkRetry<Attribute extends string = string> extends BulkSagas<Attribute> {
  /** `retry`: each saga goes on from where it stands, with new attempts. */
  readonly action: "retry";
}

/** Cancels sagas that have not reached their pivot. */
export interface BulkCancel<Attribute extends string = string> extends BulkSagas<Attribute> {
  /** `cancel`: each saga compensates. */
  readonly action: "cancel";
  /** You have made sure that the pivot did not happen, of sagas that are stalled because that is unknown. Default: false. */
  readonly pivotDidNotHappen?: boolean;
}

/** Skips a step whose work was done by hand. */
export interface BulkSkip<Attribute extends string = string> extends BulkSagas<Attribute> {
  /** `skip`: each saga goes on without the step. */
  readonly action: "skip";
  /** The step. A saga that does not stand at it is refused. */
  readonly step: string;
  /** For a step behind the pivot: the result that later steps see, of every saga. Default: undefined. */
  readonly result?: unknown;
}

/** Ends sagas by hand. */
export interface BulkResolve<Attribute extends string = string> extends BulkSagas<Attribute> {
  /** `resolve`: a person answers for the effects of each saga. */
  readonly action: "resolve";
  /** How each saga ends. */
  readonly as: "COMPLETED" | "FAILED";
}

/** Requeues abandoned entries of the outbox, with new attempts: filters, of which at least one is given, or ids. */
export interface BulkRequeue {
  /** `requeue`: each entry is due again under its id. */
  readonly action: "requeue";
  /** Whether the entries are durable calls or erasures in other systems. Default: `call`. */
  readonly kind?: "call" | "erasure";
  /** Only entries of this call or resolver. */
  readonly name?: string;
  /** Only entries whose last attempt failed with this label. */
  readonly error?: string;
  /** All abandoned entries of the kind. */
  readonly status?: "abandoned";
  /** Only entries that were enqueued at this instant or later. */
  readonly since?: Date;
  /** Only entries that were enqueued before this instant. */
  readonly until?: Date;
  /** The ids of entries, at most 10,000, instead of filters. */
  readonly ids?: readonly string[];
}

/** Resends dead webhook deliveries: filters, of which at least one is given, or ids. */
export interface BulkResend {
  /** `resend`: each delivery is sent again, as a new one. */
  readonly action: "resend";
  /** Only deliveries to this subscription. */
  readonly subscription?: string;
  /** Only deliveries whose last attempt failed with this error code, such as `http_500`. */
  readonly error?: string;
  /** All dead deliveries. */
  readonly status?: "DeadLettered";
  /** Only deliveries that became dead letters at this instant or later. */
  readonly since?: Date;
  /** Only deliveries that became dead letters before this instant. */
  readonly until?: Date;
  /** The ids of deliveries, at most 10,000, instead of filters. */
  readonly ids?: readonly string[];
}

/** What is done, and to which items. */
export type BulkItems<Attribute extends string = string> =
  | BulkRetry<Attribute>
  | BulkCancel<Attribute>
  | BulkSkip<Attribute>
  | BulkResolve<Attribute>
  | BulkRequeue
  | BulkResend;

/** What `amends.bulk.start` takes: the action, its items, and why. */
export type BulkRequest<Attribute extends string = string> = BulkItems<Attribute> &
  OperatorNote & {
    /** An id that you choose: the same start again is the same bulk action. Default: a new id. */
    readonly id?: string;
  };

/** A filter as it is stored. */
export interface ItemFilter extends Partial<SagaFilter> {
  readonly name?: string | undefined;
  readonly subscription?: string | undefined;
}

/** A request that was checked. It is stored as JSON, and two requests are the same if their JSON is. */
export interface CheckedRequest {
  readonly action: BulkAction;
  readonly kind: BulkKind;
  readonly step?: string | undefined;
  /** JSON. */
  readonly result?: string | undefined;
  readonly as?: "COMPLETED" | "FAILED" | undefined;
  readonly pivotDidNotHappen?: boolean | undefined;
  /** Instead of a filter. */
  readonly ids?: readonly string[] | undefined;
  readonly filter?: ItemFilter | undefined;
}

/** Options of one action beside its items. */
const OWN: Readonly<Record<BulkAction, readonly string[]>> = {
  retry: [],
  cancel: ["pivotDidNotHappen"],
  skip: ["step", "result"],
  resolve: ["as"],
  requeue: ["kind"],
  resend: [],
};

const SPAN = ["since", "until"];
const REQUEUE_QUERY = ["name", "error", "status", ...SPAN];
const RESEND_QUERY = ["subscription", "error", "status", ...SPAN];

/** `further` are options that are read elsewhere. */
export function readRequest(
  given: BulkItems,
  where: string,
  further: readonly string[] = [],
): CheckedRequest {
  const { action, ids } = given ?? {};
  if (!BULK_ACTIONS.includes(action))
    throw bad(where, `\`action\` must be one of ${BULK_ACTIONS.join(", ")}`, "action");
  const query = action === "requeue" ? REQUEUE_QUERY : action === "resend" ? RESEND_QUERY : QUERY;
  refuseUnknown(given, ["action", "ids", ...query, ...OWN[action], ...further], `${where} with ${action}`);
  const kind = kindOf(given, where);
  const own = { action, kind, ...ownOptions(given, where) };
  const filters = query.filter((name) => (given as unknown as Record<string, unknown>)[name] !== undefined);
  if (ids !== undefined && filters.length > 0) throw bad(where, "give `ids` or filters, not both", "ids");
  if (ids !== undefined) return { ...own, ids: readIds(ids, kind, where) };
  if (filters.length === 0)
    throw bad(
      where,
      `say which items: \`ids\`, or one of the filters ${query.join(", ")}. For all of them: ${allOf(action)}`,
      "ids",
    );
  return { ...own, filter: readFilter(given, where) };
}

function allOf(action: BulkAction): string {
  if (action === "requeue") return '`status: "abandoned"`';
  if (action === "resend") return '`status: "DeadLettered"`';
  return `\`status: "${DEFAULT_STATES[action][0] as string}"\``;
}

function kindOf(given: BulkItems, where: string): BulkKind {
  if (given.action === "resend") return "delivery";
  if (given.action !== "requeue") return "saga";
  const { kind = "call" } = given;
  if (kind === "call" || kind === "erasure") return kind;
  throw bad(where, "`kind` must be call or erasure", "kind");
}

function ownOptions(given: BulkItems, where: string): Partial<CheckedRequest> {
  switch (given.action) {
    case "skip": {
      const { step } = given;
      if (typeof step !== "string" || step === "")
        throw bad(where, "`step` must name the step that is skipped", "step");
      const result = encodeJson(given.result, { field: "The result of a skipped step", allowNul: true });
      return { step, ...(result !== null && { result }) };
    }
    case "resolve":
      if (given.as === "COMPLETED" || given.as === "FAILED") return { as: given.as };
      throw bad(where, "`as` must be COMPLETED or FAILED: how the sagas end", "as");
    case "cancel":
      if (given.pivotDidNotHappen !== undefined && typeof given.pivotDidNotHappen !== "boolean")
        throw bad(where, "`pivotDidNotHappen` must be true or false", "pivotDidNotHappen");
      return given.pivotDidNotHappen === true ? { pivotDidNotHappen: true } : {};
    default:
      return {};
  }
}

function readIds(ids: readonly string[], kind: BulkKind, where: string): readonly string[] {
  if (!Array.isArray(ids) || ids.length === 0)
    throw bad(where, "`ids` must be a list of at least one id", "ids");
  if (ids.length > IDS_MAX)
    throw bad(where, `\`ids\` has at most ${IDS_MAX} ids (there are ${ids.length}). Use a filter`, "ids");
  const check = (id: unknown): string => {
    if (kind === "saga") return checkId(id, "A saga's id");
    return kind === "delivery" ? checkSerial(id, "a delivery") : checkUuid(id, "An entry's id");
  };
  return [...new Set(ids.map(check))];
}

function readFilter(given: BulkItems, where: string): ItemFilter {
  if (given.action !== "requeue" && given.action !== "resend") return sagaFilter(given, where);
  const { error, status } = given;
  const all = given.action === "requeue" ? "abandoned" : "DeadLettered";
  if (status !== undefined && status !== all)
    throw bad(where, `\`status\` must be ${all}: ${given.action} fits no others`, "status");
  const name = given.action === "requeue" ? given.name : undefined;
  const subscription = given.action === "resend" ? given.subscription : undefined;
  for (const [field, text] of Object.entries({ error, name, subscription }))
    if (text !== undefined && (typeof text !== "string" || text === "" || text.includes("\0")))
      throw bad(where, `\`${field}\` must be a text`, field);
  return defined({
    name,
    subscription,
    error,
    fromMs: readInstant(given.since, "since", where),
    toMs: readInstant(given.until, "until", where),
  });
}

type SagaBulk = Exclude<BulkItems, BulkRequeue | BulkResend>;

function sagaFilter(given: SagaBulk, where: string): ItemFilter {
  const { action, status } = given;
  const { statuses, ...filter } = readQuery(given, where);
  const fitting: readonly SagaStatus[] = SAGA_STATES[action];
  const unfit = status === undefined ? undefined : statuses.find((one) => !fitting.includes(one));
  if (unfit !== undefined)
    throw bad(
      where,
      `${action} fits no saga that is ${unfit}: \`status\` may be ${fitting.join(", ")}`,
      "status",
    );
  return defined({ ...filter, statuses: status === undefined ? DEFAULT_STATES[action] : statuses });
}

/** Without what is undefined, as JSON has it. */
function defined<T extends object>(given: T): T {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as T;
}

function bad(where: string, why: string, field: string): AmendsError {
  return new AmendsError("BAD_OPTION", `${where}: ${why}.`, { field });
}
