/**
 * On SQLite, what was overwritten lives on in the write-ahead file until that is brought into the database's file and
 * cut off. Nobody tells us when the caller's transaction commits, so the request leaves a mark in it, and this chore of
 * the worker looks for marks. Calls that end clear what they carried, in commits of their own: after each the file is
 * cut off too. PostgreSQL does the like by itself (vacuum), out of our reach.
 */
import type { OutboxBooks } from "../outbox/books.ts";
import type { Database } from "../storage/database.ts";
import { persist } from "../storage/retry.ts";
import { raw } from "../storage/sql.ts";
import type { Duty, Leaving } from "../work/duty.ts";
import type { Host } from "../work/host.ts";
import { listUnclean, markClean } from "./queries.ts";

const BATCH = 500;

export class CleanUp implements Duty {
  readonly name: string = "erasure clean-up";
  readonly capacity: number = 1;
  readonly renewEveryMs: number = 3_600_000;
  readonly #db: Database;
  readonly #host: Pick<Host, "onTrouble" | "closing">;
  readonly #books: Pick<OutboxBooks, "flushes">;
  /** Something may be left from before this process began, too. */
  #isDue = true;
  /** Bookings of this process that the file was cut off after. */
  #flushes = 0;
  #isAccepted = false;

  constructor(host: Host, books: Pick<OutboxBooks, "flushes">) {
    this.#books = books;
    this.#db = host.database;
    this.#host = host;
  }

  get room(): number {
    return this.#isAccepted ? 1 : 0;
  }

  /** The next run cuts the file off in any case. */
  due(): void {
    this.#isDue = true;
  }

  accept(): void {
    this.#isAccepted = true;
  }

  async claim(): Promise<readonly Leaving[]> {
    await this.run();
    return [];
  }

  async renew(): Promise<void> {}

  async drain(): Promise<void> {
    this.#isAccepted = false;
  }

  /** True where nothing is left to clean up; false where somebody still reads what was there before. */
  async run(): Promise<boolean> {
    if (this.#db.dialect.name !== "sqlite") return true;
    for (;;) {
      const marked = await this.#query(listUnclean(this.#db.dialect, BATCH));
      const { flushes } = this.#books;
      if (marked.length === 0 && !this.#isDue && flushes === this.#flushes) return true;
      this.#isDue = false;
      this.#flushes = flushes;
      const [answer = {}] = await this.#query(raw("pragma wal_checkpoint(truncate)"));
      if (Number(answer["busy"]) !== 0) {
        this.#isDue = true;
        return false;
      }
      if (marked.length === 0) return true;
      const subjects = marked.map(
        (row) =>
          [row["subject_id"] as string, Number(row["erasures"]), Number(row["rectifications"])] as const,
      );
      await this.#query(markClean(this.#db.dialect, subjects));
    }
  }

  #query(statement: Parameters<Database["query"]>[0]): ReturnType<Database["query"]> {
    const host = this.#host;
    return persist(this.#db, () => this.#db.query(statement), {
      attemptMax: 8,
      signal: host.closing,
      onTrouble: (error, attempt) => host.onTrouble(error, attempt),
    });
  }
}
