/**
 * The outside world that scenarios act on. What it remembers is in files and tables, not in a process, so that
 * whoever takes a saga over meets the same world.
 */
import type { Database } from "../../src/storage/database.ts";
import { sql } from "../../src/storage/sql.ts";
import type { Effects } from "../support/effects.ts";
import { FileSink, Visits } from "../support/visits.ts";
import type { Place } from "./place.ts";
import type { Reach } from "./probe.ts";

/** What a step's code is given that the world is interested in. */
interface Call {
  readonly sagaId: string;
  readonly key: string;
  readonly attempt: number;
  readonly signal: AbortSignal;
  emit(event: { readonly type: string; readonly data?: unknown }): void;
}

/** What a resolver, a handler or a call of the user's own is given that the world is interested in. */
interface EntryCall {
  readonly key: string;
  readonly attempt: number;
  /** It is made inside an open transaction. */
  readonly locked?: boolean;
}

export class World {
  readonly effects: Effects;
  readonly visits: Visits;
  /** An audit sink outside the database. */
  readonly sink: FileSink;
  readonly database: Database;
  /** Cancels a saga from another process than the one that runs it. */
  cancel: (sagaId: string) => Promise<void>;
  /** Asks the worker that runs this call to shut down. Set only where a scenario wants it. */
  shutDown: (() => void) | undefined;
  /** Resolves once leases were renewed so often. Set only where that is counted. */
  renewed: ((times: number) => Promise<void>) | undefined;

  readonly #reach: Reach;

  constructor(place: Place, effects: Effects, database: Database, cancel: World["cancel"], reach: Reach) {
    this.effects = effects;
    this.visits = new Visits(`${place.effects}.visits`);
    this.sink = new FileSink(`${place.effects}.audit`, (write) => this.#tell(write));
    this.database = database;
    this.cancel = cancel;
    this.#reach = reach;
  }

  /** A call on behalf of an entry: written down, and a point before, during and after it. */
  async visit<T>(
    who: string,
    method: string,
    { key, attempt, locked = false }: EntryCall,
    work: () => T | Promise<T>,
  ): Promise<T> {
    const name = `${method} ${who} ${this.visits.calls(key, method) + 1}`;
    const stop = (moment: string): Promise<void> => this.#reach({ name: `${name} ${moment}`, locked });
    const say = (phase: "begun" | "ended", isFine?: boolean): void =>
      this.visits.append({
        phase,
        key,
        method,
        attempt,
        atMs: Date.now(),
        ...(isFine !== undefined && { isFine }),
      });
    await stop("before");
    say("begun");
    await stop("during");
    try {
      const value = await work();
      say("ended", true);
      return value;
    } catch (error) {
      say("ended", false);
      throw error;
    } finally {
      await stop("after");
    }
  }

  /** A point of the scenario's own. */
  async stop(name: string): Promise<void> {
    await this.#reach({ name, locked: false });
  }

  #told = 0;

  async #tell(write: () => void): Promise<void> {
    const name = `tell ${++this.#told}`;
    await this.stop(`${name} before`);
    write();
    await this.stop(`${name} after`);
  }

  close(): void {
    this.effects.close();
    this.visits.close();
    this.sink.lines.close();
  }

  /** The first so many calls under this key fail for a reason that passes. */
  failFirst(times: number, { key }: Call): void {
    if (this.effects.calls(key) <= times) throw new Error("the world is not ready");
  }

  /** Sends an event out, and writes down that it was. */
  emit(call: Call, type: string): void {
    call.emit({ type, data: { key: call.key } });
    const [, step = "", direction] = call.key.split(":");
    const action = direction === "act" ? "act" : "compensate";
    const { sagaId, key, attempt } = call;
    this.effects.append({ sagaId, saga: "", step, action, attempt, key }, { phase: "emitted", type });
  }

  /** A person repairs what was broken. */
  mend(): void {
    const call = { sagaId: "", saga: "", step: "", action: "act", attempt: 0, key: "" } as const;
    this.effects.append(call, { phase: "mended" });
  }

  get mended(): boolean {
    return this.effects.read().some((effect) => effect.phase === "mended");
  }

  /** A row of the user's own, in the user's own transaction. */
  async write(tx: unknown, entry: string): Promise<void> {
    const table = this.database.dialect.table("ledger");
    await this.database.join(tx).query(sql`insert into ${table} (entry) values (${entry})`);
  }

  /** How the newest run of a saga over events stands. */
  async flowStatus(): Promise<string | undefined> {
    const table = this.database.dialect.table("saga_state");
    const [row] = await this.database.query(sql`select status from ${table} order by run desc limit 1`);
    return row?.["status"] as string | undefined;
  }

  /** How often each entry is in the user's own table. */
  async ledger(): Promise<ReadonlyMap<string, number>> {
    const table = this.database.dialect.table("ledger");
    const rows = await this.database.query(sql`select entry, count(*) as times from ${table} group by entry`);
    return new Map(rows.map((row) => [row["entry"] as string, Number(row["times"])]));
  }
}

/** Waits until the call is told to stop, and stops. */
export function untilStopped(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const stop = (): void => reject(new Error("stopped"));
    if (signal.aborted) stop();
    else signal.addEventListener("abort", stop, { once: true });
  });
}
