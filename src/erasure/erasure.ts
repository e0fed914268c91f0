/**
 * Erasure and rectification of a person's data, in the application's own tables and in the systems around it. Both
 * run in the caller's own transaction and never commit it. The same transaction enqueues the calls to other systems
 * in the outbox. The worker makes these calls until the audit trail records the request as complete, or until an
 * abandoned entry needs an operator.
 */
import { AuditTrail, type TrailPage } from "../audit/trail.ts";
import { DatabaseAuditSink, type DatabaseAuditOptions } from "../audit/database-sink.ts";
import type { AuditEvent } from "../audit/event.ts";
import { isTransactional, type AnySink, type TransactionalSink } from "../audit/sink.ts";
import { DEFAULT_LEASE_MS, OUTBOX_RETRY, readRetry, type RetryOptions } from "../core/backoff.ts";
import { durationMs, positiveMs, type Duration } from "../core/duration.ts";
import { AmendsError } from "../core/errors.ts";
import { isDataMap, type DataMap } from "../core/erasure/data-map.ts";
import { planErasure, type ErasurePlan } from "../core/erasure/plan.ts";
import { checkSubjectId } from "../core/erasure/request.ts";
import { refuseUnknown } from "../core/options.ts";
import type { Correction, SubjectRef } from "../core/outbox/entry.ts";
import { BackoffPolicy } from "../outbox/backoff-policy.ts";
import { OutboxWriter } from "../outbox/outcome-writer.ts";
import { Outbox } from "./remote/outbox.ts";
import { ResolverRegistry } from "./remote/registry.ts";
import type { AnyResolver } from "./remote/resolver.ts";
import type { AbandonedHook } from "./remote/abandoned.ts";
import { SagaRunner, type SagaRunnerOptions } from "./remote/runner.ts";
import { retrying } from "../storage/read/reader.ts";
import { persist } from "../storage/retry.ts";
import { joinNow } from "../storage/joins/at-once.ts";
import { perform, performNow } from "../storage/joins/work.ts";
import type { Duty } from "../runtime/duty.ts";
import type { PartContext } from "../runtime/part.ts";
import { AuditRelay } from "./audit-relay.ts";
import { CleanUp } from "./clean-up.ts";
import { erase, type ErasureReport, type RequestTools } from "./local/erase.ts";
import { fitLive } from "./local/live-schema.ts";
import { checkSubject, readLeft, readRetained, type LeftData, type RetainedData } from "./local/carry-out.ts";
import { readOverdue, type OverdueOptions, type OverduePage } from "./overdue.ts";
import { listReleased, RELEASED } from "./queries.ts";
import { Recorder } from "./recorder.ts";
import { rectify, type RectificationReport, type RectifyOptions } from "./local/rectify.ts";

/** The option `erasure` of `new Amends`. */
export interface ErasureOptions<Category extends string = string> {
  /** Where the application's own tables hold personal data: `dataMap({ … })`. */
  readonly dataMap: DataMap<Category>;
  /** The other systems that hold personal data. */
  readonly resolvers?: readonly AnyResolver[];
  /**
   * Where audit events go: a sink of your own, or settings of the trail in the same database, such as
   * `{ chain: { key } }`. Default: an unchained trail in the same database.
   */
  readonly audit?: AnySink | DatabaseAuditOptions;
  /**
   * The number of attempts of a call to another system, and the waits between them. Default: 8 attempts, from 30s up to
   * 1h.
   */
  readonly retry?: RetryOptions;
  /** The lease of a call: how long a worker that vanished keeps it. Default: 5m. */
  readonly lease?: Duration;
  /** A call that takes longer is aborted and counts as failed. Default: the lease. */
  readonly timeout?: Duration;
  /** The number of calls that one `runner.runOnce` takes. Default: 50. */
  readonly batchSize?: number;
  /** A request is complete only when every resolver that can verify has found the data gone. Default: false. */
  readonly requireVerification?: boolean;
  /** Called after a call to another system was abandoned durably. Its errors are ignored. */
  readonly onAbandoned?: AbandonedHook;
  /**
   * SQLite only: the shortest interval between two rebuilds of the file (VACUUM), which remove the last bytes of erased
   * data. A rebuild blocks the process for about a second per 100 MB, and changes the rowids of tables without an
   * INTEGER PRIMARY KEY. With "never", call `cleanUp` yourself. Default: 1h.
   */
  readonly rebuildEvery?: Duration | "never";
}

/** The caller's transaction, in which an erasure or a rectification is written. */
export interface RequestOptions<Tx> {
  /** Your own open transaction. Amends writes in it and never commits it. */
  readonly tx: Tx;
}

/** What `verifySubject` found in the application's own tables. */
export interface SubjectVerification {
  /** The id of the data subject. */
  readonly subjectId: string;
  /** True if only retained data is left. */
  readonly clean: boolean;
  /** The data that should be gone and is not. */
  readonly left: readonly LeftData[];
  /** The data that is kept because of a legal retention. */
  readonly retained: readonly RetainedData[];
}

/** Every option, so that a new one is not forgotten here. */
const OPTIONS: Readonly<Record<keyof ErasureOptions, true>> = {
  dataMap: true,
  resolvers: true,
  audit: true,
  retry: true,
  lease: true,
  timeout: true,
  batchSize: true,
  requireVerification: true,
  onAbandoned: true,
  rebuildEvery: true,
};

/** Erasure and rectification: `amends.erasure`. */
export class Erasure<Tx = unknown, Category extends string = string> {
  /** The outbox of calls to other systems: list, count, requeue and resolve entries. */
  readonly outbox: Outbox<Tx>;
  /** Makes the calls to other systems. The worker drives it; without one, call its `runOnce`. */
  readonly runner: SagaRunner;
  /** @internal */
  readonly duties: readonly Duty[];
  readonly #host: PartContext<Tx>;
  readonly #tools: RequestTools<Tx>;
  readonly #audit: AnySink;
  readonly #cleanUp: CleanUp;

  constructor(context: PartContext<Tx>, options: ErasureOptions<Category>) {
    refuseUnknown(options, Object.keys(OPTIONS), "new Amends({ erasure })");
    const { dataMap, resolvers = [], audit = {}, rebuildEvery = "1h" } = options;
    if (!isDataMap(dataMap)) {
      throw new AmendsError(
        "BAD_OPTION",
        "`erasure` needs a data map: erasure: { dataMap: dataMap({ … }) }.",
      );
    }
    const { database } = context;
    const host = context as PartContext;
    const registry = new ResolverRegistry(resolvers);
    const { backoff, ...runnerOptions } = runnerOptionsOf(options);
    const writer = new OutboxWriter(host);
    this.#host = context;
    this.#audit = isSink(audit) ? audit : new DatabaseAuditSink(host.database, audit, host);
    // Audit events are written in the transaction that makes them true; an outside sink gets them after the commit.
    const relay = isTransactional(this.#audit)
      ? undefined
      : new AuditRelay(host, writer, this.#audit, backoff.leaseMs);
    const sink = relay ?? (this.#audit as TransactionalSink);
    this.outbox = new Outbox(database, { audit: sink }, context);
    this.runner = new SagaRunner(registry, this.outbox, this.#audit, { ...runnerOptions, backoff });
    const rebuildEveryMs =
      rebuildEvery === "never" ? Number.POSITIVE_INFINITY : durationMs(rebuildEvery, "erasure.rebuildEvery");
    this.#cleanUp = new CleanUp({ host, writer: this.outbox.writer, rebuildEveryMs });
    this.duties = [...(relay ? [relay.duty] : []), this.runner.duty, this.#cleanUp];
    this.#tools = { map: dataMap, registry, outbox: this.outbox, recorder: new Recorder(host, sink) };
  }

  /**
   * Erases a subject in the caller's open transaction, without committing it. `refs` say how other systems identify the
   * subject.
   */
  async eraseSubject(
    subjectId: string,
    refs: readonly SubjectRef[],
    options: RequestOptions<Tx>,
  ): Promise<ErasureReport> {
    const { tx } = readRequest(options, ["tx"], "eraseSubject");
    const work = erase(this.#tools, subjectId, refs);
    const session = this.#host.database.join(tx);
    return perform(session, work(session.dialect));
  }

  /** @internal `eraseSubject` in a synchronous transaction. */
  eraseSubjectNow(
    subjectId: string,
    refs: readonly SubjectRef[],
    options: RequestOptions<Tx>,
  ): ErasureReport {
    const { tx } = readRequest(options, ["tx"], "eraseSubject");
    const work = erase(this.#tools, subjectId, refs);
    const session = joinNow(this.#host.database, tx);
    return performNow(session, work(session.dialect));
  }

  /** Corrects a subject's data in the caller's open transaction, without committing it. */
  async rectifySubject(
    subjectId: string,
    corrections: readonly (Correction & { readonly category: Category })[],
    refs: readonly SubjectRef[],
    options: RequestOptions<Tx> & RectifyOptions,
  ): Promise<RectificationReport> {
    const { tx, ...rest } = readRequest(options, ["tx", "afterErasure"], "rectifySubject");
    const work = rectify(this.#tools, subjectId, corrections, refs, rest);
    const session = this.#host.database.join(tx);
    return perform(session, work(session.dialect));
  }

  /** @internal `rectifySubject` in a synchronous transaction. */
  rectifySubjectNow(
    subjectId: string,
    corrections: readonly (Correction & { readonly category: Category })[],
    refs: readonly SubjectRef[],
    options: RequestOptions<Tx> & RectifyOptions,
  ): RectificationReport {
    const { tx, ...rest } = readRequest(options, ["tx", "afterErasure"], "rectifySubject");
    const work = rectify(this.#tools, subjectId, corrections, refs, rest);
    const session = joinNow(this.#host.database, tx);
    return performNow(session, work(session.dialect));
  }

  /**
   * Checks the data map against the database's schema: at start-up, or in a test. Throws an error that lists everything
   * that does not fit.
   */
  async check(): Promise<ErasurePlan> {
    const { database } = this.#host;
    return persist(database, () =>
      database.transaction(async (session) =>
        planErasure(await perform(session, fitLive(session.dialect, this.#tools.map))),
      ),
    );
  }

  /** Reads which data of a subject is left in the application's own tables. */
  async verifySubject(subjectId: string): Promise<SubjectVerification> {
    checkSubjectId(subjectId);
    const { database } = this.#host;
    return persist(database, () =>
      database.transaction(async (session) => {
        const { dialect } = session;
        const fitted = await perform(session, fitLive(dialect, this.#tools.map));
        checkSubject(fitted, subjectId);
        const plan = planErasure(fitted);
        const left = await perform(session, readLeft(dialect, plan, subjectId));
        const { retained } = await perform(session, readRetained(dialect, plan, subjectId));
        return { subjectId, clean: left.length === 0, left, retained };
      }),
    );
  }

  /** Lists erasures that are past their deadline and not complete, with the entries that each waits for. */
  overdue(options: OverdueOptions = {}): Promise<OverduePage> {
    return readOverdue(retrying(this.#host.database), options);
  }

  /** Lists subjects with retained data whose retention has ended, the longest ago first. Erase them again. */
  async released({ limit = 100 }: { readonly limit?: number } = {}): Promise<readonly string[]> {
    if (!Number.isInteger(limit) || limit < 1 || limit > 1_000)
      throw new AmendsError("BAD_OPTION", "A list of released subjects has 1 to 1000 of them.");
    const { database } = this.#host;
    const rows = await persist(database, () => database.query(listReleased(database.dialect, limit)));
    return rows.map((row) => RELEASED.read(row).subjectId);
  }

  /** Lists the audit events of a subject, oldest first. */
  async trail(subjectId: string): Promise<readonly AuditEvent[]> {
    if (!isTransactional(this.#audit)) {
      throw new AmendsError("NOT_SUPPORTED", "The audit events go to a sink of your own: read them there.");
    }
    const trail = new AuditTrail(this.#host.database);
    const events: AuditEvent[] = [];
    let page: TrailPage | undefined;
    do {
      const after: string | undefined = page?.next;
      page = await trail.list({ subjectId, limit: 1_000, ...(after !== undefined && { after }) });
      events.push(...page.events);
    } while (page.next !== undefined);
    return events;
  }

  /**
   * SQLite only: removes erased data from the database's files by rebuilding them. The worker calls it; without a
   * worker, call it after the commit. Returns false if another connection still reads the old data.
   */
  cleanUp(): Promise<boolean> {
    return this.#cleanUp.run(true);
  }

  /** Resolves once every failure so far is on record. Call it before a process ends without closing its Amends. */
  recorded(): Promise<void> {
    return this.#tools.recorder.noted();
  }
}

/** Maps the options of `erasure` to those of the runner. */
function runnerOptionsOf(options: ErasureOptions): SagaRunnerOptions & { readonly backoff: BackoffPolicy } {
  const { batchSize, requireVerification, onAbandoned, timeout, lease = DEFAULT_LEASE_MS } = options;
  const retry = readRetry(options.retry, OUTBOX_RETRY, "erasure.retry", "BAD_OPTION");
  const leaseMs = positiveMs(lease, "erasure.lease");
  return {
    maxAttempts: retry.attemptMax,
    backoff: new BackoffPolicy({
      baseDelay: retry.baseMs,
      maxDelay: retry.capMs,
      factor: retry.factor,
      lease: leaseMs,
    }),
    callTimeout: timeout === undefined ? leaseMs : positiveMs(timeout, "erasure.timeout"),
    ...(batchSize !== undefined && { batchSize }),
    ...(requireVerification !== undefined && { requireVerification }),
    ...(onAbandoned !== undefined && { onAbandoned }),
  };
}

function isSink(audit: AnySink | DatabaseAuditOptions): audit is AnySink {
  const { append, appendIn } = audit as { append?: unknown; appendIn?: unknown };
  return typeof append === "function" || typeof appendIn === "function";
}

function readRequest<Options extends RequestOptions<unknown>>(
  options: Options,
  known: readonly string[],
  name: string,
): Options {
  if (typeof options !== "object" || options === null || options.tx === undefined) {
    throw new AmendsError(
      "NEEDS_TRANSACTION",
      `erasure.${name} writes in your own open transaction: pass it as { tx }.`,
    );
  }
  refuseUnknown(options, known, `erasure.${name}`);
  return options;
}
