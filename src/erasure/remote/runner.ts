/**
 * Processes due outbox entries: claim, call, decide, settle. It has no loop of its own: `runOnce` is for a cron
 * job, a test or a serverless function; with `new Amends({ erasure })` a worker drives it. Both use one lease pool,
 * so leases are renewed while calls run, and a call whose claim was lost is aborted.
 *
 * Cost: a claim of any size is one commit and one round trip; outcomes that arrive together share one commit.
 */
import type { NewAuditEvent } from "../../audit/event.ts";
import { isTransactional, type AnySink, type AuditSink } from "../../audit/sink.ts";
import { positiveMs, type Duration } from "../../core/duration.ts";
import { AmendsError, errorLabel } from "../../core/errors.ts";
import { refuseArguments, refuseUnknown } from "../../core/options.ts";
import { decideBefore, type Decision, type Outcome, type Policy } from "../../core/outbox/decide.ts";
import type { OutboxEntry } from "../../core/outbox/entry.ts";
import { within } from "../../storage/clock.ts";
import type { LeasePool } from "../../runtime/lease-pool.ts";
import type { Lease } from "../../runtime/lease.ts";
import { COMMIT_SOON_MS, type Duty } from "../../runtime/duty.ts";
import { readTraceparent } from "../../runtime/trace.ts";
import { tryHook } from "../../runtime/hook.ts";
import { abandonedSignal, type AbandonedHook } from "./abandoned.ts";
import { eventsOf, keyed } from "./announce.ts";
import type { Decided } from "../../outbox/attempt.ts";
import { policyOf, type BackoffPolicy, type BackoffSettings } from "../../outbox/backoff-policy.ts";
import { completionOf, LOCAL_ONLY } from "./complete.ts";
import { labelOf, reportFailure } from "../../outbox/outcome.ts";
import { ResolverAttempt } from "./dispatch.ts";
import { entryPool, runBatch, type ClaimedEntry, type PoolContext } from "../../outbox/entry-pool.ts";
import type { Outbox } from "./outbox.ts";
import { canVerify, type ResolverRegistry } from "./registry.ts";
import { ENTRY, isReadable, toEntry, type EntryRow } from "../../outbox/rows.ts";
import { scrubbedRef } from "./scrub.ts";
import type { Settled, Settlement } from "../../outbox/settle.ts";

/** The options of a `SagaRunner`. */
export interface SagaRunnerOptions {
  /** The number of attempts after which an entry is abandoned. Default: 8. */
  readonly maxAttempts?: number;
  /** The number of entries that one `runOnce` claims at most. Default: 50. */
  readonly batchSize?: number;
  /**
   * The retry schedule and the length of a lease: `{ base: "10s", cap: "10m", lease: "5m" }`. Default: 30s, doubled up
   * to 1h, with a lease of 5m.
   */
  readonly backoff?: BackoffPolicy | BackoffSettings;
  /** Called after an entry was abandoned, for example to page an operator. */
  readonly onAbandoned?: AbandonedHook;
  /** True keeps a request open until every resolver that can verify has found the data absent. Default: false. */
  readonly requireVerification?: boolean;
  /** A call that takes longer is aborted and counts as failed. Default: the length of the lease. */
  readonly callTimeout?: Duration;
}

/** What a runner needs of its outbox. */
export interface RunnerOutbox extends Pick<Outbox, "writer" | "onEnqueued"> {
  readonly host: PoolContext;
}

const OPTIONS = ["maxAttempts", "batchSize", "backoff", "onAbandoned", "requireVerification", "callTimeout"];

/**
 * Makes the due calls of an outbox: claims entries, calls their resolvers, and settles the outcomes. A worker drives
 * it, or `runOnce` does.
 */
export class SagaRunner {
  readonly #registry: ResolverRegistry;
  readonly #outbox: RunnerOutbox;
  readonly #audit: AnySink;
  readonly #host: PoolContext;
  readonly #backoff: BackoffPolicy;
  readonly #attemptMax: number;
  readonly #batchSize: number;
  readonly #timeoutMs: number;
  readonly #isVerifiedFirst: boolean;
  readonly #onAbandoned: AbandonedHook | undefined;
  readonly #pool: LeasePool<ClaimedEntry<EntryRow>>;

  constructor(
    registry: ResolverRegistry,
    outbox: RunnerOutbox,
    audit: AnySink,
    options: SagaRunnerOptions = {},
  ) {
    refuseUnknown(options, OPTIONS, "new SagaRunner");
    const { maxAttempts = 8, batchSize = 50, callTimeout } = options;
    const backoff = policyOf(options.backoff, "new SagaRunner");
    this.#registry = registry;
    this.#outbox = outbox;
    this.#audit = audit;
    this.#host = outbox.host;
    this.#backoff = backoff;
    this.#attemptMax = wholeNumber(maxAttempts, "maxAttempts");
    this.#batchSize = wholeNumber(batchSize, "batchSize");
    this.#timeoutMs = callTimeout === undefined ? backoff.leaseMs : positiveMs(callTimeout, "callTimeout");
    this.#isVerifiedFirst = options.requireVerification ?? false;
    this.#onAbandoned = options.onAbandoned;
    this.#pool = entryPool({
      name: "outbox",
      kind: "erasure",
      table: ENTRY,
      host: outbox.host,
      writer: outbox.writer,
      leaseMs: backoff.leaseMs,
      run: (row, lease) => this.#run(row, lease),
    });
    outbox.onEnqueued(() => this.#pool.dueIn(COMMIT_SOON_MS));
  }

  /** Not for users: what a worker drives. */
  get duty(): Duty {
    return this.#pool;
  }

  /** The number of claims that were lost to another runner. */
  get lost(): number {
    return this.#pool.lost;
  }

  /**
   * Claims one batch, makes its calls in parallel, settles each outcome as it arrives, and returns the number of
   * claimed entries.
   */
  async runOnce(...given: []): Promise<number> {
    refuseArguments(given, "A runner's runOnce");
    return runBatch(this.#pool, this.#host, this.#batchSize);
  }

  async #run(row: EntryRow, lease: Lease): Promise<void> {
    let entry = toEntry(row);
    const before: Decision | undefined = isReadable(row)
      ? decideBefore(entry, { attemptMax: this.#attemptMax })
      : { event: "abandon", error: "UnreadableEntry" };
    if (before) return this.#conclude(entry, lease, { kind: "refused", label: "" }, before);
    for (;;) {
      const { operation, resolver, entryId, attempts } = entry;
      const ended = await this.#host.tracer.run(
        () => ({
          name: `${entry.verification === undefined ? operation : "verify"} ${resolver}`,
          kind: "client",
          labels: { "amends.resolver": resolver, "amends.operation": operation },
          attributes: { "amends.entry_id": entryId, "amends.attempt": attempts },
          parent: readTraceparent(row.traceparent),
        }),
        () => this.#call(entry, lease),
        (one) => labelOf(one?.outcome),
      );
      if (!ended) return;
      const { outcome, decision } = ended;
      reportFailure(
        (fields, message) => this.#host.warn(fields, message),
        "resolver",
        resolver,
        entry,
        outcome,
        decision,
      );
      if (decision.event !== "verify") return this.#conclude(entry, lease, outcome, decision);
      if (!(await this.#isRecorded(entry, lease, outcome, decision))) return;
      entry = { ...entry, verification: decision.verification };
    }
  }

  /** Undefined if the call was interrupted: it has no outcome. */
  #call(entry: OutboxEntry, lease: Lease): Promise<Decided | undefined> {
    const { clock, graceMs } = this.#host;
    const attempt = new ResolverAttempt(this.#registry, entry, lease, {
      policy: this.#policyFor(entry),
      noteRunning: () => this.#outbox.writer.noteRunning(entry),
    });
    return attempt.decided({ clock, timeoutMs: this.#timeoutMs, graceMs });
  }

  #policyFor(entry: OutboxEntry): Policy {
    const asks = entry.operation === "erase" && this.#verifies(entry.resolver);
    return {
      attemptMax: this.#attemptMax,
      backoff: this.#backoff.schedule,
      verifies: asks ? (this.#isVerifiedFirst ? "required" : "pending") : undefined,
    };
  }

  #verifies(resolver: string): boolean {
    return this.#registry.has(resolver) && canVerify(this.#registry.get(resolver));
  }

  async #conclude(entry: OutboxEntry, lease: Lease, outcome: Outcome, decision: Decision): Promise<void> {
    if (!(await this.#isRecorded(entry, lease, outcome, decision))) return;
    if (decision.event === "fail") this.#pool.dueIn(decision.waitMs);
    const hook = this.#onAbandoned;
    if (decision.event !== "abandon" || !hook) return;
    const isFine = await tryHook(this.#host.clock, () => hook(abandonedSignal(entry, decision.error)));
    if (!isFine) this.#host.warn({ entryId: entry.entryId }, "amends: onAbandoned failed");
  }

  /** False if the claim was lost, which is counted, or if the audit sink refused the events. */
  async #isRecorded(
    entry: OutboxEntry,
    lease: Lease,
    outcome: Outcome,
    decision: Decision,
  ): Promise<boolean> {
    let settled: Settled | "untold" = "untold";
    try {
      settled = await this.#settle(entry, outcome, decision);
    } finally {
      // The call has an outcome: a sink that is down must not use up the attempts of the entry.
      if (settled === "untold") await this.#outbox.writer.uncount(entry);
    }
    if (settled === "lost") lease.stop("lost");
    return settled !== "lost" && settled !== "untold";
  }

  /** With an external sink, the events are sent first, and a completion is sent before the outcome is persisted. */
  async #settle(entry: OutboxEntry, outcome: Outcome, decision: Decision): Promise<Settled | "untold"> {
    const events = entry.resolver === LOCAL_ONLY ? [] : eventsOf(entry, outcome, decision);
    const item = this.#pieceOf(entry, decision, events);
    const { writer } = this.#outbox;
    if (isTransactional(this.#audit)) return writer.settle({ ...item, sink: this.#audit });
    if (!(await this.#tell(this.#audit, entry, events))) return "untold";
    const settled = await writer.settle({ ...item, asks: item.completes !== undefined });
    if (settled !== "completes") return settled;
    if (!(await this.#tell(this.#audit, entry, [completionOf(entry)]))) return "untold";
    return writer.settle(item);
  }

  /** False if the sink failed: the entry stays claimed, and is claimed again after its lease expires. */
  async #tell(sink: AuditSink, entry: OutboxEntry, events: readonly NewAuditEvent[]): Promise<boolean> {
    if (events.length === 0) return true;
    let isTold = false;
    const telling = (async () => {
      await sink.append(events.map((event) => keyed(entry, event)));
      isTold = true;
    })().catch((error: unknown) => {
      const { entryId } = entry;
      this.#host.warn(
        { entryId, error: errorLabel(error) },
        "amends: the audit sink failed; trying again later",
      );
    });
    await within(this.#host.clock, this.#timeoutMs, telling);
    return isTold;
  }

  #pieceOf(entry: OutboxEntry, decision: Decision, events: readonly NewAuditEvent[]): Settlement {
    const { entryId, token, verification } = entry;
    // A success with an optional verification already completed its request if it was the last entry.
    const completes =
      decision.event === "verify" ? decision.verification === "pending" : verification !== "pending";
    const mayComplete = (decision.event === "succeed" || decision.event === "verify") && completes;
    const refValue = this.#registry.hasPersonalRefs(entry.resolver)
      ? scrubbedRef(decision.event, entry.operation)
      : undefined;
    return {
      entryId,
      token,
      events,
      ...decision,
      ...(refValue !== undefined && { refValue }),
      ...(mayComplete && { completes: entry, completion: completionOf(entry) }),
    };
  }
}

function wholeNumber(value: number, field: string): number {
  if (Number.isInteger(value) && value >= 1) return value;
  throw new AmendsError("BAD_OPTION", `${field} must be a whole number, 1 or more.`);
}
