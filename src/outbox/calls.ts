/**
 * Durable calls of the user's own: written in the caller's transaction, made after its commit, tried again until they
 * succeed or a person is needed. They leave through the same table, the same claim and the same desk as everything else.
 */
import type { StandardSchemaV1 } from "@standard-schema/spec";
import { insertAction } from "../audit/action-queries.ts";
import type { NewAction } from "../core/action.ts";
import { AmendsError } from "../core/errors.ts";
import { checkNote, type OperatorNote } from "../core/operator-note.ts";
import { refuseUnknown } from "../core/options.ts";
import { decide, decideBefore, type Decision, type Outcome } from "../core/outbox/decide.ts";
import { isErr } from "../core/result.ts";
import type { Session } from "../storage/database.ts";
import { retrying } from "../storage/read/reader.ts";
import { readPage, sourceOf, type Source } from "../storage/read/selection.ts";
import { persist, type RetryLimits } from "../storage/retry.ts";
import type { LeasePool } from "../runtime/lease-pool.ts";
import type { Lease } from "../runtime/lease.ts";
import { COMMIT_SOON_MS, type Duty } from "../runtime/duty.ts";
import { HOST, retryLimitsOf, type PartContext, type Hosting } from "../runtime/part.ts";
import { readTraceparent } from "../runtime/trace.ts";
import { tryHook } from "../runtime/hook.ts";
import { Attempt } from "./attempt.ts";
import { policyOf, type BackoffPolicy, type BackoffSettings } from "./backoff-policy.ts";
import { OutboxWriter } from "./outcome-writer.ts";
import { encodeInput, type CallContext, type CallDefinition } from "./call-definition.ts";
import { toCall, type CallEntry } from "./call-row.ts";
import { checkUuid } from "../core/identity.ts";
import { failureOf, labelOf, tellThrown } from "./outcome.ts";
import { entryPool, runBatch, type ClaimedEntry } from "./entry-pool.ts";
import { checkLimit, ENTRY_PLACE, type PageOptions } from "./read/entry-page.ts";
import { insertEntries } from "./queries.ts";
import { abandonedRows } from "./read/list-queries.ts";
import { requeueCalls } from "./requeue.ts";
import { CALL, type CallRow } from "./rows.ts";

export interface CallsOptions {
  readonly calls: readonly CallDefinition[];
  /** When a failed call is made again, and how long a claim lasts: `{ base: "10s", cap: "10m", lease: "5m" }`. */
  readonly backoff?: BackoffPolicy | BackoffSettings;
  /** How many one `runOnce` takes. 50 unless said otherwise. */
  readonly batchSize?: number;
  /** Called after a call was abandoned, durably. What it throws is ignored, and it is not waited for beyond a second. */
  readonly onAbandoned?: (signal: AbandonedCall) => unknown;
}

/** Labels and ids only. */
export interface AbandonedCall {
  readonly entryId: string;
  readonly name: string;
  readonly attempts: number;
  readonly error: string;
}

export interface CallPage {
  readonly entries: readonly CallEntry[];
  readonly next: string | undefined;
}

export class Calls<Tx = unknown> {
  readonly #host: PartContext<Tx>;
  readonly #books: OutboxWriter;
  readonly #known: ReadonlyMap<string, CallDefinition>;
  readonly #backoff: BackoffPolicy;
  readonly #batchSize: number;
  readonly #onAbandoned: CallsOptions["onAbandoned"];
  readonly #pool: LeasePool<ClaimedEntry<CallRow>>;
  readonly #retryLimits: RetryLimits;
  #isAttached = false;

  constructor(amends: Hosting<Tx>, options: CallsOptions) {
    refuseUnknown(options, ["calls", "backoff", "batchSize", "onAbandoned"], "new Calls");
    const { calls, batchSize = 50 } = options;
    const backoff = policyOf(options.backoff, "new Calls");
    const host = amends[HOST];
    this.#host = host;
    this.#books = new OutboxWriter(host);
    this.#known = byName(calls);
    this.#backoff = backoff;
    this.#batchSize = batchSize;
    this.#onAbandoned = options.onAbandoned;
    this.#retryLimits = retryLimitsOf(host);
    this.#pool = entryPool({
      name: "calls",
      kind: "call",
      table: CALL,
      names: () => [...this.#known.keys()],
      host,
      books: this.#books,
      leaseMs: backoff.leaseMs,
      run: (row, lease) => this.#run(row, lease),
    });
  }

  get duty(): Duty {
    return this.#pool;
  }

  /** Claims that were lost to another worker: the fence held. */
  get lost(): number {
    return this.#pool.lost;
  }

  /** The worker of this Amends drives them from its next start on. */
  attach(): this {
    if (!this.#isAttached) this.#host.addDuty(this.#pool);
    this.#isAttached = true;
    return this;
  }

  /** Writes the call in the caller's open transaction: it is made exactly if that commits. Returns its id. */
  async enqueue<Schema extends StandardSchemaV1>(
    tx: Tx,
    call: CallDefinition<Schema>,
    input: StandardSchemaV1.InferInput<Schema>,
  ): Promise<string> {
    return this.enqueueIn(this.#host.database.join(tx), call, input);
  }

  async enqueueIn<Schema extends StandardSchemaV1>(
    session: Session,
    call: CallDefinition<Schema>,
    input: StandardSchemaV1.InferInput<Schema>,
  ): Promise<string> {
    const payload = await encodeInput(call, input);
    const entryId = this.#host.newId();
    const entry = { entryId, kind: "call", name: call.name, payload } as const;
    await session.query(insertEntries(session.dialect, [entry], this.#host.tracer.current()));
    const notice = session.dialect.notify();
    if (notice) await session.query(notice);
    this.#pool.dueIn(COMMIT_SOON_MS);
    return entryId;
  }

  /** Claims one batch of the calls that this process knows, makes them, and returns how many there were. */
  runOnce(): Promise<number> {
    return runBatch(this.#pool, this.#host, this.#batchSize);
  }

  /** Calls that need a person, oldest first. */
  async listAbandoned(options: PageOptions = {}): Promise<CallPage> {
    const limit = checkLimit(options.limit ?? 100);
    const reader = retrying(this.#host.database, this.#retryLimits);
    const { items, next } = await readPage(reader, ABANDONED, ENTRY_PLACE, { limit, after: options.after });
    return { entries: items, next };
  }

  /**
   * Gives abandoned calls a fresh budget, under the same ids; others are skipped. Who did it and why is on record in the
   * same transaction. Returns the ids that were requeued.
   */
  async requeue(ids: Iterable<string>, note: OperatorNote): Promise<readonly string[]> {
    const { reason, by = NOBODY } = checkNote(note, "the record of what people did");
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

  async #run(row: CallRow, lease: Lease): Promise<void> {
    const entry = toCall(row);
    const definition = this.#known.get(entry.name) as CallDefinition;
    const { attemptMax } = definition;
    const before = decideBefore(entry, { attemptMax });
    if (before) return this.#conclude(entry, lease, before);
    const ended = await this.#host.tracer.run(
      () => ({
        name: `call ${entry.name}`,
        kind: "consumer",
        labels: { "amends.call": entry.name },
        attributes: { "amends.entry_id": entry.entryId, "amends.attempt": entry.attempts },
        parent: readTraceparent(row.traceparent),
      }),
      () => this.#call(definition, entry, lease),
      (one) => labelOf(one?.outcome),
    );
    if (!ended) return;
    const { outcome, decision } = ended;
    tellThrown("call", entry.name, entry, outcome, decision);
    return this.#conclude(entry, lease, decision);
  }

  async #call(definition: CallDefinition, entry: CallEntry, lease: Lease): ReturnType<Attempt["decided"]> {
    const { clock, graceMs } = this.#host;
    const timeoutMs = definition.timeoutMs ?? this.#backoff.leaseMs;
    const attempt = new Attempt({ clock, lease, timeoutMs, graceMs });
    const { attemptMax } = definition;
    const policy = { attemptMax, backoff: this.#backoff.schedule, verifies: undefined };
    return attempt.decided(
      () => answer(definition, entry, attempt),
      (outcome) => decide(entry, outcome, policy),
      () => this.#books.noteRunning(entry),
    );
  }

  async #conclude(entry: CallEntry, lease: Lease, decision: Decision): Promise<void> {
    const { entryId, token, name, attempts } = entry;
    if ((await this.#books.settle({ entryId, token, ...decision })) === "lost") return lease.stop("lost");
    if (decision.event === "fail") this.#pool.dueIn(decision.waitMs);
    if (decision.event !== "abandon") return;
    const { error } = decision;
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

/** On record where nobody said who it was. */
const NOBODY = "unknown";

function byName(calls: readonly CallDefinition[]): ReadonlyMap<string, CallDefinition> {
  const known = new Map(calls.map((call) => [call.name, call]));
  if (known.size === calls.length) return known;
  throw new AmendsError("BAD_DEFINITION", "Two calls have the same name. Give each a name of its own.");
}

/** Never rejects. */
async function answer(
  { handle }: CallDefinition,
  { entryId, attempts, payload }: CallEntry,
  attempt: Attempt,
): Promise<Outcome> {
  let input: unknown;
  try {
    input = JSON.parse(payload ?? "null");
  } catch {
    return { kind: "refused", label: "UnreadableEntry" };
  }
  try {
    const context: CallContext = {
      key: entryId,
      attempt: attempts,
      get signal() {
        return attempt.signal;
      },
    };
    const returned = await handle(input as never, context);
    return isErr(returned) ? { kind: "refused", label: "Err" } : { kind: "done", already: false };
  } catch (thrown) {
    return failureOf(thrown);
  }
}
