/**
 * The outside world that scenarios call. Its state is in files and tables, not in a process, so that the worker that
 * takes over a saga sees the same state.
 */
import type { Database } from "../../../src/storage/database.ts";
import { sql } from "../../../src/storage/sql.ts";
import type { Effects } from "./effects.ts";
import { FileSink, EntryCalls } from "./entry-calls.ts";
import { LineFile } from "./line-file.ts";
import type { Sandbox } from "../harness/sandbox.ts";
import type { AtPoint } from "../harness/crash-points.ts";

/** The part of a step's context that the world uses. */
interface Call {
  readonly sagaId: string;
  readonly key: string;
  readonly attempt: number;
  readonly signal: AbortSignal;
  emit(event: { readonly type: string; readonly data?: unknown }): void;
}

/** The part of the context of a resolver, a handler or a call that the world uses. */
interface EntryCallContext {
  readonly key: string;
  readonly attempt: number;
  /** The call is made inside an open transaction. */
  readonly locked?: boolean;
}

export class World {
  readonly effects: Effects;
  readonly entryCalls: EntryCalls;
  /** An audit sink outside the database. */
  readonly sink: FileSink;
  readonly database: Database;
  /** Cancels a saga from a process that does not run it. */
  cancel: (sagaId: string) => Promise<void>;
  /** Asks the worker that runs this call to shut down. Only some scenarios set it. */
  shutDown: (() => void) | undefined;
  /** Resolves after `times` lease renewals. Set only if renewals are counted. */
  renewed: ((times: number) => Promise<void>) | undefined;

  readonly #atPoint: AtPoint;
  readonly #questions: LineFile<string>;

  constructor(
    sandbox: Sandbox,
    effects: Effects,
    database: Database,
    cancel: World["cancel"],
    atPoint: AtPoint,
  ) {
    this.effects = effects;
    this.entryCalls = new EntryCalls(`${sandbox.effects}.calls`);
    this.sink = new FileSink(`${sandbox.effects}.audit`, (write) => this.#writeAudit(write));
    this.#questions = new LineFile(`${sandbox.effects}.questions`);
    this.database = database;
    this.cancel = cancel;
    this.#atPoint = atPoint;
  }

  /** A call for an outbox entry: it is recorded, and has a crash point before, during and after it. */
  async callForEntry<T>(
    who: string,
    method: string,
    { key, attempt, locked = false }: EntryCallContext,
    work: () => T | Promise<T>,
  ): Promise<T> {
    const name = `${method} ${who} ${this.entryCalls.countCalls(key, method) + 1}`;
    const pointAt = (moment: string): Promise<void> => this.#atPoint({ name: `${name} ${moment}`, locked });
    const record = (phase: "begun" | "ended", isFine?: boolean): void =>
      this.entryCalls.append({
        phase,
        key,
        method,
        attempt,
        atMs: Date.now(),
        ...(isFine !== undefined && { isFine }),
      });
    await pointAt("before");
    record("begun");
    await pointAt("during");
    try {
      const value = await work();
      record("ended", true);
      return value;
    } catch (error) {
      record("ended", false);
      throw error;
    } finally {
      await pointAt("after");
    }
  }

  /** A crash point of the scenario's own. */
  async reachPoint(name: string): Promise<void> {
    await this.#atPoint({ name, locked: false });
  }

  /** Asks the outside world something. Returns how often it has been asked that, by any process. */
  ask(question: string): number {
    this.#questions.append(question);
    return this.timesAsked(question);
  }

  timesAsked(question: string): number {
    return this.#questions.read().filter((one) => one === question).length;
  }

  #auditWrites = 0;

  async #writeAudit(write: () => void): Promise<void> {
    const name = `audit ${++this.#auditWrites}`;
    await this.reachPoint(`${name} before`);
    write();
    await this.reachPoint(`${name} after`);
  }

  close(): void {
    this.effects.close();
    this.entryCalls.close();
    this.#questions.close();
    this.sink.lines.close();
  }

  /** The first `times` calls under this key throw an error that may be retried. */
  failFirst(times: number, { key }: Call): void {
    if (this.effects.countCalls(key) <= times) throw new Error("the service is not ready");
  }

  /** Emits an event, and records that. */
  emit(call: Call, type: string): void {
    call.emit({ type, data: { key: call.key } });
    const [, step = "", direction] = call.key.split(":");
    const action = direction === "act" ? "act" : "compensate";
    const { sagaId, key, attempt } = call;
    this.effects.append({ sagaId, saga: "", step, action, attempt, key }, { phase: "emitted", type });
  }

  /** An operator repairs the broken service. */
  repair(): void {
    const call = { sagaId: "", saga: "", step: "", action: "act", attempt: 0, key: "" } as const;
    this.effects.append(call, { phase: "repaired" });
  }

  get isRepaired(): boolean {
    return this.effects.read().some((effect) => effect.phase === "repaired");
  }

  /** Writes a row of the application, in the application's transaction. */
  async write(tx: unknown, entry: string): Promise<void> {
    const table = this.database.dialect.table("ledger");
    await this.database.join(tx).query(sql`insert into ${table} (entry) values (${entry})`);
  }

  /** The status of the newest run of the event saga. */
  async flowStatus(): Promise<string | undefined> {
    const table = this.database.dialect.table("saga_state");
    const [row] = await this.database.query(sql`select status from ${table} order by run desc limit 1`);
    return row?.["status"] as string | undefined;
  }

  /** The number of rows per entry in the application's table. */
  async ledger(): Promise<ReadonlyMap<string, number>> {
    const table = this.database.dialect.table("ledger");
    const rows = await this.database.query(sql`select entry, count(*) as times from ${table} group by entry`);
    return new Map(rows.map((row) => [row["entry"] as string, Number(row["times"])]));
  }
}

/** Rejects when the call's signal is aborted. */
export function untilStopped(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const stop = (): void => reject(new Error("stopped"));
    if (signal.aborted) stop();
    else signal.addEventListener("abort", stop, { once: true });
  });
}
