/** A transaction that stays open between two calls of its owner, until the owner ends it. */
import type { Database, Session } from "../storage/database.ts";

export class HeldTransaction {
  readonly session: Session;
  readonly #done: Promise<void>;
  readonly #commit: () => void;
  readonly #rollback: (why: unknown) => void;

  private constructor(session: Session, done: Promise<void>, ends: Ends) {
    this.session = session;
    this.#done = done;
    this.#commit = ends.commit;
    this.#rollback = ends.rollback;
  }

  /** Rejects with the database's error if the transaction cannot begin. */
  static begin(db: Database): Promise<HeldTransaction> {
    return new Promise((resolve, reject) => {
      let ends: Ends | undefined;
      const ended = new Promise<void>((commit, rollback) => (ends = { commit, rollback }));
      // `done` is set when the session exists: the database needs a turn to begin the transaction.
      const done: Promise<void> = db.transaction(async (session) => {
        resolve(new HeldTransaction(session, done, ends as Ends));
        await ended;
      });
      done.catch(reject);
    });
  }

  async commit(): Promise<void> {
    this.#commit();
    await this.#done;
  }

  /** Never rejects: the server rolls back the transaction of a connection that was lost. */
  async rollback(why: unknown = new Error("the run was rolled back")): Promise<void> {
    this.#rollback(why);
    await this.#done.catch(() => undefined);
  }
}

interface Ends {
  commit(this: void): void;
  rollback(this: void, why: unknown): void;
}
