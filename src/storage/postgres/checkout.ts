/**
 * Runs work on one connection of the pool, and decides by the work's error what becomes of that connection and of the
 * others: it is given back, it is destroyed, or all of them are replaced.
 */
import type { PoolClient } from "pg";
import { AmendsError, closedError } from "../../core/errors.ts";
import { AbandonedTransaction, type Dialect } from "../database.ts";
import { refuseNative } from "../joins/pg-joins.ts";
import type { OpenWork } from "../open-work.ts";
import { ServerReplaced } from "./identity.ts";
import { isSilence, type Lending } from "./pool.ts";
import type { Route } from "./route.ts";
import { transient } from "./trouble.ts";

export interface CheckoutOptions {
  readonly lending: Lending;
  /** True for Amends' own pool: its errors may show a pooler. */
  readonly own: boolean;
  readonly route: Route;
  readonly dialect: Dialect;
  /** Refuses work inside a transaction in which application code runs: it would wait for a second connection. */
  readonly open: OpenWork;
}

export class Checkout {
  readonly #options: CheckoutOptions;
  #closed = false;

  constructor(options: CheckoutOptions) {
    this.#options = options;
  }

  refuseClosed(): void {
    if (this.#closed) throw closedError();
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#options.lending.close();
  }

  /** Runs work on one connection; a broken connection is destroyed. */
  async run<T>(work: (client: PoolClient) => Promise<T>): Promise<T> {
    const { open, dialect } = this.#options;
    open.refuseInside();
    try {
      this.refuseClosed();
      return await this.#withClient(await this.#borrow(), work);
    } catch (error) {
      // If the pool was closed meanwhile, report that instead of the pool's error.
      throw this.#closed && dialect.trouble(error).code === "DATABASE_UNREACHABLE" ? closedError() : error;
    }
  }

  /** A pooler that refuses the settings of a direct connection is asked once more without them. */
  async #borrow(): Promise<PoolClient> {
    const { lending, own, route } = this.#options;
    return lending.borrow().catch((error: unknown) => {
      if (own && route.learnsFromConnect(error)) return lending.borrow();
      throw error;
    });
  }

  async #withClient<T>(client: PoolClient, work: (client: PoolClient) => Promise<T>): Promise<T> {
    const { lending, own, route, dialect } = this.#options;
    let broken = false;
    // A connection may break between two statements of a transaction; without a listener, the error event would end
    // the process.
    const onError = (): void => void (broken = true);
    client.on("error", onError);
    try {
      refuseNative(client);
      return await work(client);
    } catch (error) {
      const { kind, code } = dialect.trouble(error);
      const isReadOnly = code === "DATABASE_READ_ONLY";
      broken ||= error instanceof AbandonedTransaction || isReadOnly;
      broken ||= !(error instanceof AmendsError) && kind === "unknown";
      // The server has become a standby, was replaced, or does not answer: the other connections lead there as well.
      if (isReadOnly || isSilence(error) || error instanceof ServerReplaced) lending.replaceAll();
      // Nothing was done, and the next attempt uses no names.
      if (own && route.learnsFromStatement(error)) {
        broken = true;
        throw transient("a pooler has changed the session", error);
      }
      throw error;
    } finally {
      client.off("error", onError);
      lending.giveBack(client, broken);
    }
  }
}
