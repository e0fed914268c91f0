/**
 * Records every operator action before it runs, and its result afterwards: an action that cannot be recorded does
 * not run. Each action has its own id, so an action that an operator repeats is recorded twice.
 */
import type { NewAction } from "../core/action.ts";
import { errorLabel } from "../core/errors.ts";
import type { Database } from "../storage/database.ts";
import { persist } from "../storage/retry.ts";
import { insertAction } from "./action-queries.ts";

export class ActionLog {
  readonly #db: Database;
  readonly #newId: () => string;

  constructor(db: Database, newId: () => string) {
    this.#db = db;
    this.#newId = newId;
  }

  /** Runs the action between its two records. Of a thrown error, only the label is recorded. */
  async around<T>(action: NewAction, work: () => Promise<T>): Promise<T> {
    const id = this.#newId();
    await this.#write(id, action, "asked", null);
    let result: T;
    try {
      result = await work();
    } catch (error) {
      await this.#write(id, action, "refused", errorLabel(error));
      throw error;
    }
    await this.#write(id, action, "done", null);
    return result;
  }

  async #write(
    id: string,
    action: NewAction,
    outcome: "asked" | "done" | "refused",
    code: string | null,
  ): Promise<void> {
    const { dialect } = this.#db;
    await persist(this.#db, () => this.#db.query(insertAction(dialect, id, action, outcome, code)));
  }
}
