/**
 * Durable calls of the application: enqueued in the caller's transaction, made after its commit, and retried until
 * they succeed or need an operator. They use the same outbox table, claim and lease pool as everything else.
 */
import type { StandardSchemaV1 } from "@standard-schema/spec";
import { insertAction } from "../../audit/action-queries.ts";
import type { NewAction } from "../../core/action.ts";
import {
  checkLease,
  DEFAULT_LEASE_MS,
  OUTBOX_RETRY,
  readRetry,
  type RetryOptions,
} from "../../core/backoff.ts";
import { positiveMs, type Duration } from "../../core/duration.ts";
import { AmendsError } from "../../core/errors.ts";
import { checkUuid } from "../../core/identity.ts";
import { checkNote, type OperatorNote } from "../../core/operator-note.ts";
import { givenTransaction, refuseArguments, refuseUnknown } from "../../core/options.ts";
import { decideBefore, type Decision, type Outcome } from "../../core/outbox/decide.ts";
import type { Session } from "../../storage/database.ts";
import { atOnce, joinNow } from "../../storage/joins/at-once.ts";
import { perform, performNow } from "../../storage/joins/work.ts";
import { retrying } from "../../storage/read/reader.ts";
import { readPage, sourceOf, type Source } from "../../storage/read/selection.ts";
import { answerInTime, persist, type RetryLimits } from "../../storage/retry.ts";
import type { LeasePool } from "../../runtime/lease-pool.ts";
import type { Lease } from "../../runtime/lease.ts";
import { COMMIT_SOON_MS, type Duty } from "../../runtime/duty.ts";
import { retryLimitsOf, type PartContext } from "../../runtime/part.ts";
import { readTraceparent, untraced } from "../../runtime/trace.ts";
import { tryHook } from "../../runtime/hook.ts";
import type { Decided } from "../attempt.ts";
import { OutboxWriter } from "../outcome-writer.ts";
import { CallAttempt, KnownCall } from "./attempt.ts";
import { CallClaims } from "./claims.ts";
import { encodeCall, type CallDefinition } from "./definition.ts";
import { toCall, type CallEntry } from "./entry.ts";
import { readCall, writeCall, type EnqueueOptions, type QueuedCall } from "./enqueue.ts";
import { labelOf, reportFailure, withMessage } from "../outcome.ts";
import { entryPool, runBatch, type ClaimedEntry } from "../entry-pool.ts";
import { checkLimit, ENTRY_PLACE, type PageOptions } from "../read/entry-page.ts";
import { abandonedRows } from "../read/list-queries.ts";
import { requeueCalls } from "../requeue.ts";
import type { Settlement } from "../settle.ts";
import { CALL, CLAIMED_CALL, type ClaimedCall } from "../rows.ts";

/** The option `calls` of `new Amends`, with settings. */
export interface CallsOptions {
  /** The calls that this process makes. An empty list is for a process that only enqueues. */
  readonly define: readonly CallDefinition[];
  /** The retry schedule of calls without one of their own. Default: 8 attempts, from 30s up to 1h. */
  readonly retry?: RetryOptions;
  /** The lease of a call: how long a worker that vanished keeps it. Default: 5m. */
  readonly lease?: Duration;
  /** The number of calls that one `runOnce` takes. Default: 50. */
  readonly batchSize?: number;
  /**
   * Called after a call was abandoned durably. Its errors are ignored. The worker waits for it for at most one second.
   */
  readonly onAbandoned?: (signal: AbandonedCall) => unknown;
}

/** A call was abandoned. It holds labels and ids only, so it may go to a chat or a pager. */
export interface AbandonedCall {
  /** The id of the entry: what `calls.requeue` takes. */
  readonly entryId: string;
  /** The name of the call. */
  readonly name: string;
  /** The number of attempts. */
  readonly attempts: number;
  /** The label of the last error. */
  readonly error: string;
}

/** One page of calls. */
export interface CallPage {
  /** The calls of this page. */
  readonly entries: readonly CallEntry[];
  /** Pass it as `after` to get the next page; undefined on the last one. */
  readonly next: string | undefined;
}

const OPTIONS = ["define", "retry", "lease", "batchSize", "onAbandoned"];

/** Durable calls: `amends.calls`. */
export class Calls<Tx = unknown> {
  readonly #host: PartContext<Tx>;
  readonly #writer: OutboxWriter;
  readonly #known: ReadonlyMap<string, KnownCall>;
  readonly #batchSize: number;
  readonly #onAbandoned: CallsOptions["onAbandoned"];
  readonly #pool: LeasePool<ClaimedEntry<ClaimedCall>>;
  readonly #retryLimits: RetryLimits;

  constructor(context: PartContext<Tx>, given: CallsOptions | readonly CallDefinition[]) {
    const options: CallsOptions = isList(given) ? { define: given } : given;
    refuseUnknown(options, OPTIONS, "new Amends({ calls })");
    const { batchSize = 50 } = options;
    if (!Number.isInteger(batchSize) || batchSize < 1)
      throw new AmendsError("BAD_OPTION", "calls.batchSize must be a whole number, 1 or more.");
    this.#host = context;
    this.#writer = new OutboxWriter(context);
    const leaseMs = checkLease(positiveMs(options.lease ?? DEFAULT_LEASE_MS, "calls.lease"), "calls.lease");
    this.#known = knownCalls(options, context, leaseMs, (entry) => this.#writer.noteRunning(entry));
    this.#batchSize = batchSize;
    this.#onAbandoned = options.onAbandoned;
    this.#retryLimits = retryLimitsOf(context, "calls");
    this.#pool = entryPool({
      name: "calls",
      kind: "call",
      table: CLAIMED_CALL,
      lanes: { names: () => [...this.#known.keys()], of: (row) => row.name },
      claims: new CallClaims({
        writer: this.#writer,
        clock: context.clock,
        isLimited: [...this.#known.values()].some(({ definition }) => definition.limits),
        onHeld: (ms) => this.#pool.dueIn(ms),
      }),
      host: context,
      writer: this.#writer,
      leaseMs,
      run: (row, lease) => this.#run(row, lease).finally(() => this.#left(row)),
    });
  }

  /** @internal */
  get duties(): readonly Duty[] {
    return this.#known.size === 0 ? [] : [this.#pool];
  }

  /** The number of claims that this process lost to another worker. */
  get lost(): number {
    return this.#pool.lost;
  }

  /**
   * Enqueues a call. With `tx`, it is made if and only if the transaction commits; without, it is durable when this
   * resolves. With `id`, it is enqueued once, however often this is called.
   */
  async enqueue<Schema extends StandardSchemaV1>(
    call: CallDefinition<Schema>,
    input: StandardSchemaV1.InferInput<Schema>,
    options: EnqueueOptions<Tx> = {},
  ): Promise<QueuedCall> {
    const { database, tracer } = this.#host;
    const newId = (): string => this.#host.newId();
    const encoded = await encodeCall(call, input);
    const made = readCall(encoded, options as EnqueueOptions<never>, newId, tracer.current());
    const tx = givenTransaction(options, "calls.enqueue");
    if (tx !== undefined) {
      const session = database.join(tx);
      const queued = await perform(session, writeCall(session.dialect, made));
      this.#pool.dueIn((made.gate?.afterMs ?? 0) + COMMIT_SOON_MS);
      return queued;
    }
    database.refuseInside?.();
    const write = (): Promise<QueuedCall> =>
      database.transaction((session) => perform(session, writeCall(session.dialect, made)));
    const queued = await answerInTime(database, persist(database, write, this.#retryLimits));
    this.#pool.dueIn(made.gate?.afterMs ?? 0);
    return queued;
  }

  /** @internal `enqueue` in a synchronous transaction. */
  enqueueNow(call: CallDefinition, input: unknown, options: EnqueueOptions<Tx>): QueuedCall {
    const { database, tracer } = this.#host;
    const newId = (): string => this.#host.newId();
    const encoded = atOnce(encodeCall(call, input), `The input of call ${call.name}`);
    const made = readCall(encoded, options as EnqueueOptions<never>, newId, tracer.current());
    const queued = performNow(joinNow(database, options.tx), writeCall(database.dialect, made));
    this.#pool.dueIn((made.gate?.afterMs ?? 0) + COMMIT_SOON_MS);
    return queued;
  }

  /** Claims one batch of the calls that this process knows, makes them, and returns their number. */
  async runOnce(...given: []): Promise<number> {
    refuseArguments(given, "amends.calls.runOnce");
    return runBatch(this.#pool, this.#host, this.#batchSize);
  }

  /** Lists abandoned calls, oldest first. */
  async listAbandoned(options: PageOptions = {}): Promise<CallPage> {
    refuseUnknown(options, ["limit", "after"], "calls.listAbandoned");
    const limit = checkLimit(options.limit ?? 100);
    const reader = retrying(this.#host.database, this.#retryLimits);
    const { items, next } = await readPage(reader, ABANDONED, ENTRY_PLACE, { limit, after: options.after });
    return { entries: items, next };
  }

  /**
   * Requeues abandoned calls under the same ids, with their attempts reset; other ids are skipped. The reason and the
   * operator go on record in the same transaction. Returns the requeued ids.
   */
  async requeue(ids: Iterable<string>, note: OperatorNote): Promise<readonly string[]> {
    const { reason, by = UNKNOWN_OPERATOR } = checkNote(note, "the log of operator actions");
    const given = [...new Set([...ids].map((id) => checkUuid(id, "A call's id")))];
    if (given.length === 0) return [];
    const { database } = this.#host;
    const requeue = requeueCalls(given);
    const actionIds = new Map(given.map((id) => [id, this.#host.newId()]));
    const work = async (session: Session): Promise<readonly string[]> => {
      const done = await requeue.run(session);
      for (const id of done) {
        const action: NewAction = { by, action: "requeue", target: { kind: "call", id }, reason };
        for (const outcome of ["asked", "done"] as const) {
          const actionId = actionIds.get(id) as string;
          await session.query(insertAction(session.dialect, actionId, action, outcome, null));
        }
      }
      return done;
    };
    const done = await persist(database, () => database.transaction(work), this.#retryLimits);
    if (done.length > 0) this.#pool.dueIn(0);
    return done;
  }

  /** @internal Calls were resumed in this process: its worker claims them at once. */
  resumed(): void {
    this.#pool.dueIn(0);
  }

  async #run(entry: ClaimedCall, lease: Lease): Promise<void> {
    const known = this.#known.get(entry.name) as KnownCall;
    const before = decideBefore(entry, known.policy);
    const ended = before ? { outcome: undefined, decision: before } : await this.#call(known, entry, lease);
    if (!ended) return;
    const { outcome, decision } = ended;
    if (outcome && "label" in outcome) this.#report(entry, outcome, decision);
    const stored = this.#host.keepMessages ? withMessage(decision, outcome) : decision;
    const settled = await this.#writer.settle(settlementOf(entry, stored));
    if (settled === "lost") return lease.stop("lost");
    if (decision.event === "fail") this.#pool.dueIn(decision.waitMs);
    if (decision.event === "abandon") await this.#abandoned(entry, decision.error);
  }

  /** Others may wait for its place. */
  #left({ limits }: ClaimedCall): void {
    if (limits) this.#pool.dueIn(0);
  }

  #call(known: KnownCall, entry: ClaimedCall, lease: Lease): Promise<Decided | undefined> {
    const { tracer } = this.#host;
    const attempt = new CallAttempt(known, entry, lease);
    return tracer === untraced ? attempt.decided(known.limits) : this.#traced(known, entry, attempt);
  }

  #traced(known: KnownCall, entry: ClaimedCall, attempt: CallAttempt): Promise<Decided | undefined> {
    return this.#host.tracer.run(
      () => ({
        name: `call ${entry.name}`,
        kind: "consumer",
        labels: { "amends.call": entry.name },
        attributes: { "amends.entry_id": entry.entryId, "amends.attempt": entry.attempts },
        parent: readTraceparent(entry.traceparent),
      }),
      () => attempt.decided(known.limits),
      (one) => labelOf(one?.outcome),
    );
  }

  #report(entry: ClaimedCall, outcome: Outcome, decision: Decision): void {
    const warn: PartContext["warn"] = (fields, message) => this.#host.warn(fields, message);
    reportFailure(warn, "call", entry.name, entry, outcome, decision);
  }

  async #abandoned({ entryId, name, attempts }: ClaimedCall, error: string): Promise<void> {
    this.#host.warn({ entryId, call: name, error }, "amends: a call was abandoned and needs a person");
    const hook = this.#onAbandoned;
    if (!hook) return;
    const isFine = await tryHook(this.#host.clock, () => hook({ entryId, name, attempts, error }));
    if (!isFine) this.#host.warn({ entryId }, "amends: onAbandoned failed");
  }
}

const ABANDONED: Source<CallEntry> = sourceOf(
  (dialect) => abandonedRows(dialect, "call"),
  (row) => toCall(CALL.read(row)),
);

function settlementOf({ entryId, token }: ClaimedCall, decision: Decision): Settlement {
  const { event } = decision;
  return event === "succeed" ? { entryId, token, event } : { entryId, token, ...decision };
}

/** The recorded name if the caller gives none. */
const UNKNOWN_OPERATOR = "unknown";

function isList(given: unknown): given is readonly CallDefinition[] {
  return Array.isArray(given);
}

function knownCalls(
  { define, retry: given }: CallsOptions,
  { clock, graceMs, errorCodes }: PartContext,
  leaseMs: number,
  noteRunning: KnownCall["noteRunning"],
): ReadonlyMap<string, KnownCall> {
  const isCall = (call: Partial<CallDefinition> | undefined): boolean => typeof call?.handle === "function";
  if (!isList(define) || !define.every(isCall)) {
    throw new AmendsError(
      "BAD_OPTION",
      "`calls` must be a list of calls, made by `defineCall(…)`, or an object with such a list as `define`.",
    );
  }
  const general = readRetry(given, OUTBOX_RETRY, "calls.retry", "BAD_OPTION");
  const known = new Map<string, KnownCall>();
  for (const definition of define) {
    const { name } = definition;
    if (known.has(name)) {
      throw new AmendsError("BAD_DEFINITION", `Two calls have the same name: ${name}. Rename one of them.`);
    }
    const retry = readRetry(definition.retry, general, `Call ${name}: retry`);
    const limits = { clock, timeoutMs: definition.timeoutMs ?? leaseMs, graceMs };
    known.set(name, new KnownCall(definition, retry, { limits, errorCodes, noteRunning }));
  }
  return known;
}
