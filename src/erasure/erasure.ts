/**
 * Erasure and rectification of a person's data, in the application's own tables and in the systems around it. Both run
 * in the caller's own transaction and never commit it. What other systems have to do is in the outbox with it, and the
 * worker sees to it until the audit trail says that the request is complete everywhere, or a person is told what is in
 * the way.
 */
import { AuditTrail, type TrailPage } from "../audit/trail.ts";
import { DatabaseAuditSink } from "../audit/database-sink.ts";
import type { AuditEvent } from "../audit/event.ts";
import { isTransactional, type AnySink, type TransactionalSink } from "../audit/sink.ts";
import { durationMs, type Duration } from "../core/duration.ts";
import { AmendsError } from "../core/errors.ts";
import { isDataMap, type DataMap } from "../core/erasure/data-map.ts";
import { planErasure, type ErasurePlan } from "../core/erasure/plan.ts";
import { checkSubjectId } from "../core/erasure/request.ts";
import { refuseUnknown } from "../core/options.ts";
import type { Correction, SubjectRef } from "../core/outbox/entry.ts";
import { policyOf } from "../outbox/backoff-policy.ts";
import { OutboxWriter } from "../outbox/outcome-writer.ts";
import { Outbox } from "./remote/outbox.ts";
import { ResolverRegistry } from "./remote/registry.ts";
import type { AnyResolver } from "./remote/resolver.ts";
import { SagaRunner, type SagaRunnerOptions } from "./remote/runner.ts";
import { retrying } from "../storage/read/reader.ts";
import { persist } from "../storage/retry.ts";
import { HOST, type PartContext, type Hosting } from "../runtime/part.ts";
import { AuditRelay } from "./audit-relay.ts";
import { CleanUp } from "./clean-up.ts";
import { erase, type ErasureReport, type RequestTools } from "./local/erase.ts";
import { fitLive } from "./local/live-schema.ts";
import {
  checkSubject,
  readLeft,
  readRetained,
  type LeftData,
  type RetainedData,
} from "./local/local-phase.ts";
import { readOverdue, type OverdueOptions, type OverduePage } from "./overdue.ts";
import { listReleased, RELEASED } from "./queries.ts";
import { Recorder } from "./recorder.ts";
import { rectify, type RectificationReport, type RectifyOptions } from "./local/rectify.ts";

export interface ErasureOptions<Tx, Category extends string> extends SagaRunnerOptions {
  readonly amends: Hosting<Tx>;
  readonly dataMap: DataMap<Category>;
  readonly resolvers?: readonly AnyResolver[];
  /** Where events go. Into the same database unless said otherwise. */
  readonly audit?: AnySink;
  /**
   * SQLite only: how often at most the file is rebuilt (VACUUM), so that not a byte of what was erased is left in its
   * gaps. One hour unless said otherwise. It blocks the process for about a second per 100 MB, and changes the rowids of
   * tables without an INTEGER PRIMARY KEY; with "never", call `cleanUp` when it suits you.
   */
  readonly rebuildEvery?: Duration | "never";
}

export interface SubjectVerification {
  readonly subjectId: string;
  /** Nothing is left but what is retained. */
  readonly clean: boolean;
  readonly left: readonly LeftData[];
  readonly retained: readonly RetainedData[];
}

/** Every option, so that one that is added to the runner is not forgotten here. */
const OPTIONS: Readonly<Record<keyof ErasureOptions<unknown, string>, true>> = {
  amends: true,
  dataMap: true,
  resolvers: true,
  audit: true,
  rebuildEvery: true,
  maxAttempts: true,
  batchSize: true,
  backoff: true,
  onAbandoned: true,
  requireVerification: true,
  callTimeout: true,
};

export class Erasure<Tx = unknown, Category extends string = string> {
  /** The entries for other systems: requeue those that were abandoned, list them, count them. */
  readonly outbox: Outbox<Tx>;
  /** Makes the calls to other systems. The worker drives it; without one, call its `runOnce`. */
  readonly runner: SagaRunner;
  readonly #host: PartContext<Tx>;
  readonly #amends: Hosting<Tx>;
  readonly #tools: RequestTools<Tx>;
  readonly #audit: AnySink;
  readonly #cleanUp: CleanUp;

  constructor(options: ErasureOptions<Tx, Category>) {
    refuseUnknown(options, Object.keys(OPTIONS), "new Erasure");
    const { amends, dataMap, resolvers = [], audit, rebuildEvery = "1h", ...rest } = options;
    if (!isDataMap(dataMap)) {
      throw new AmendsError("BAD_OPTION", "Give `new Erasure` a dataMap: dataMap({ … }).");
    }
    const backoff = policyOf(options.backoff, "new Erasure");
    this.#amends = amends;
    this.#host = amends[HOST];
    const host = this.#host as PartContext;
    const registry = new ResolverRegistry(resolvers);
    this.#audit = audit ?? new DatabaseAuditSink(amends);
    const books = new OutboxWriter(host);
    // What becomes true in a transaction is told in it; a sink outside hears of it after the commit.
    const relay = isTransactional(this.#audit)
      ? undefined
      : new AuditRelay(host, books, this.#audit, backoff.leaseMs);
    const sink = relay ?? (this.#audit as TransactionalSink);
    if (relay) host.addDuty(relay.duty);
    this.outbox = new Outbox(amends, { audit: sink });
    this.runner = new SagaRunner(registry, this.outbox, this.#audit, { ...rest, backoff }).attach();
    const rebuildEveryMs =
      rebuildEvery === "never" ? Number.POSITIVE_INFINITY : durationMs(rebuildEvery, "rebuildEvery");
    this.#cleanUp = new CleanUp({ host, books: this.outbox.books, rebuildEveryMs });
    host.addDuty(this.#cleanUp);
    const recorder = new Recorder(host, sink);
    this.#tools = { map: dataMap, registry, outbox: this.outbox, recorder };
  }

  /**
   * Erases a subject in the caller's open transaction: all of it is committed with it, or none. `refs` say under which
   * name other systems know the subject.
   */
  eraseSubject(tx: Tx, subjectId: string, refs: readonly SubjectRef[] = []): Promise<ErasureReport> {
    return erase(this.#tools, tx, subjectId, refs);
  }

  /** Corrects what is wrong about a subject, in the caller's open transaction. */
  rectifySubject(
    tx: Tx,
    subjectId: string,
    corrections: readonly (Correction & { readonly category: Category })[],
    refs: readonly SubjectRef[] = [],
    options: RectifyOptions = {},
  ): Promise<RectificationReport> {
    return rectify(this.#tools, tx, subjectId, corrections, refs, options);
  }

  /** Checks the data map against the database: for a start-up, or a test. Throws with everything that does not fit. */
  async check(): Promise<ErasurePlan> {
    const { database } = this.#host;
    return persist(database, () =>
      database.transaction(async (session) => planErasure(await fitLive(session, this.#tools.map))),
    );
  }

  /** Looks what is left of a subject in the own tables. */
  async verifySubject(subjectId: string): Promise<SubjectVerification> {
    checkSubjectId(subjectId);
    const { database } = this.#host;
    return persist(database, () =>
      database.transaction(async (session) => {
        const fitted = await fitLive(session, this.#tools.map);
        checkSubject(fitted, subjectId);
        const plan = planErasure(fitted);
        const left = await readLeft(session, plan, subjectId);
        const { retained } = await readRetained(session, plan, subjectId);
        return { subjectId, clean: left.length === 0, left, retained };
      }),
    );
  }

  /** Erasures that were asked for longer ago than the deadline and are not complete, with what keeps each. */
  overdue(options: OverdueOptions = {}): Promise<OverduePage> {
    return readOverdue(retrying(this.#host.database), options);
  }

  /** Subjects of whom something had to be retained whose time is over: erase them again. The longest over come first. */
  async released({ limit = 100 }: { readonly limit?: number } = {}): Promise<readonly string[]> {
    if (!Number.isInteger(limit) || limit < 1 || limit > 1_000)
      throw new AmendsError("BAD_OPTION", "A list of released subjects has 1 to 1000 of them.");
    const { database } = this.#host;
    const rows = await persist(database, () => database.query(listReleased(database.dialect, limit)));
    return rows.map((row) => RELEASED.read(row).subjectId);
  }

  /** Everything on record about a subject, oldest first. */
  async trail(subjectId: string): Promise<readonly AuditEvent[]> {
    if (!isTransactional(this.#audit)) {
      throw new AmendsError("NOT_SUPPORTED", "The audit events go to a sink of your own: read them there.");
    }
    const trail = new AuditTrail(this.#amends);
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
   * On SQLite: takes what was erased out of the database's files, by rebuilding them. The worker does it by itself;
   * without one, call it after the commit. False where another connection still reads what was there before.
   */
  cleanUp(): Promise<boolean> {
    return this.#cleanUp.run(true);
  }

  /** Resolves once every failure so far is on record: before a process ends that does not close its Amends. */
  recorded(): Promise<void> {
    return this.#tools.recorder.noted();
  }
}
