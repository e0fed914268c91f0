/**
 * How Amends reaches the server: directly, or through a pooler that lends each transaction another connection of the
 * server. Such a pooler keeps nothing of a session, so statements have no names, settings open each transaction and
 * nobody listens. Without the option `pooler`, the first sign of a pooler decides, and each sign is seen before
 * anything was done: the connection was refused, or the statement was.
 */

/** `auto`: the first connection tells. */
export type PoolerChoice = "auto" | "none" | "transaction";

/** Codes of a server that refuses a startup parameter: PgBouncer, RDS Proxy, and servers that lack the setting. */
const REFUSES_PARAMETERS = new Set(["08P01", "0A000", "42704"]);
const ABOUT_PARAMETERS = /parameter|command-line option/i;

/** A prepared statement that is unknown, or known already: the session is not the one that prepared it. */
const FOREIGN_SESSION = new Set(["26000", "42P05"]);

export class Route {
  readonly #choice: PoolerChoice;
  readonly #listeners = new Set<() => void>();
  #isPooled: boolean;

  constructor(choice: PoolerChoice) {
    this.#choice = choice;
    this.#isPooled = choice === "transaction";
  }

  get isPooled(): boolean {
    return this.#isPooled;
  }

  /** Whether a refused connection shows a pooler: one more attempt may then succeed. */
  learnsFromConnect(error: unknown): boolean {
    const { code, message } = (error ?? {}) as { code?: unknown; message?: unknown };
    const isRefusal = REFUSES_PARAMETERS.has(String(code)) && ABOUT_PARAMETERS.test(String(message));
    return isRefusal && this.#becomePooled();
  }

  /** Whether a refused statement shows a pooler. Nothing of its transaction was done. */
  learnsFromStatement(error: unknown): boolean {
    return FOREIGN_SESSION.has(String((error as { code?: unknown } | null)?.code)) && this.#becomePooled();
  }

  /** The server has not applied the settings that this connection sent. */
  lostSettings(): void {
    this.#becomePooled();
  }

  /** Calls back once it is known that there is a pooler. */
  onPooled(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** False if the caller has ruled out a pooler. */
  #becomePooled(): boolean {
    if (this.#choice === "none") return false;
    if (!this.#isPooled) {
      this.#isPooled = true;
      for (const listener of this.#listeners) listener();
    }
    return true;
  }
}
