/**
 * Lends connections of a pool. A connection that broke, or that did not answer within its limit, is destroyed and never
 * lent again. When one of our own connections falls silent (a stopped server, a firewall that forgot it), all that were
 * open at that moment are suspected and replaced before their next use: a new connection may work although they do not.
 */
import type { Client, ClientBase, Pool, PoolClient } from "pg";
import { CLOSE_MS, sleep, systemClock, within, type Clock } from "../clock.ts";

export interface LendingOptions {
  readonly pool: Pool;
  /** Our own pool: it may be emptied. A caller's pool only loses the connection that failed. */
  readonly own: boolean;
  readonly clock: Clock;
  /** A caller's pool may wait for ever for a free connection; this is our limit. */
  readonly connectMs: number;
}

export class Lending {
  readonly #options: LendingOptions;
  /** The generation in which a connection was opened. Connections of an older generation are not lent. */
  readonly #opened = new WeakMap<ClientBase, number>();
  readonly #sockets = new Set<Socket>();
  #generation = 0;

  constructor(options: LendingOptions) {
    this.#options = options;
    const { pool } = options;
    // The pool replaces an idle connection that breaks; without a listener the error would end the process.
    pool.on("error", () => undefined);
    pool.on("connect", (client) => {
      // The same for a connection that breaks at the moment in which the pool hands it over.
      client.on("error", () => undefined);
      this.#opened.set(client, this.#generation);
      this.#remember(client);
    });
  }

  /** A connection that may be used. */
  async borrow(): Promise<PoolClient> {
    for (;;) {
      const client = await this.#connect();
      if (!this.#options.own || (this.#opened.get(client) ?? 0) >= this.#generation) return client;
      this.giveBack(client, true);
    }
  }

  giveBack(client: PoolClient, isBroken: boolean): void {
    // The pool says goodbye first and waits for the answer, which a silent connection never gives.
    if (isBroken) destroy(client);
    client.release(isBroken);
  }

  /** No connection that is open now will be lent again. */
  replaceAll(): void {
    this.#generation++;
  }

  /** Ends our own pool. What does not end in time is cut off, so that the process can exit. */
  async close(): Promise<void> {
    const { own, pool, clock } = this.#options;
    if (!own || pool.ended || pool.ending) return;
    await within(clock, CLOSE_MS, pool.end());
    for (const socket of this.#sockets) socket.destroy?.();
  }

  async #connect(): Promise<PoolClient> {
    const { own, pool, connectMs } = this.#options;
    const connecting = pool.connect();
    // The driver bounds the wait for a connection of our own pool.
    if (own) return connecting;
    const over = new AbortController();
    const first = await Promise.race([connecting, sleep(systemClock, connectMs, over.signal)]).finally(() =>
      over.abort(),
    );
    if (first) return first;
    connecting.then(
      (client) => client.release(),
      () => undefined,
    );
    throw new Error("timeout exceeded when trying to connect");
  }

  #remember(client: ClientBase): void {
    const socket = socketOf(client);
    if (!socket) return;
    this.#sockets.add(socket);
    socket.once?.("close", () => this.#sockets.delete(socket));
  }
}

/** The driver's socket, which its types do not show. */
interface Socket {
  cork?(): void;
  uncork?(): void;
  destroy?(): void;
  once?(event: "close", listener: () => void): unknown;
}

export function socketOf(client: ClientBase): Socket | undefined {
  return (client as Partial<{ readonly connection: { readonly stream?: Socket } }>).connection?.stream;
}

/** Cuts a connection off without a word. */
function destroy(client: ClientBase): void {
  socketOf(client)?.destroy?.();
}

/** Says goodbye; cuts the connection off where the other side does not answer. */
export async function endClient(client: Client): Promise<void> {
  await within(
    systemClock,
    CLOSE_MS,
    client.end().catch(() => undefined),
  );
  destroy(client);
}

/** The driver's error for a statement whose answer did not come within `query_timeout`. */
export function isSilence(error: unknown): boolean {
  return error instanceof Error && error.message === "Query read timeout";
}
