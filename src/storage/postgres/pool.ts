/**
 * Checks connections out of a pool. A connection that broke or timed out is destroyed and never reused. When one of
 * Amends' own connections becomes silent (a stopped server, a firewall that dropped it) or turns out to be read-only (a
 * server that became a standby), all connections that are open at that moment are replaced before their next use: a
 * new connection may work although they do not.
 */
import type { Client, ClientBase, Pool, PoolClient } from "pg";
import { CLOSE_MS, sleep, systemClock, within, type Clock } from "../clock.ts";

export interface LendingOptions {
  readonly pool: Pool;
  /**
   * True for Amends' own pool: all its connections may be replaced. A caller's pool only loses the failed
   * connection.
   */
  readonly own: boolean;
  readonly clock: Clock;
  /** The timeout of a checkout: a caller's pool may wait forever for a free connection. */
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
      // The same for a connection that breaks during its checkout.
      client.on("error", () => undefined);
      this.#opened.set(client, this.#generation);
    });
  }

  /** Checks out a usable connection. */
  async borrow(): Promise<PoolClient> {
    for (;;) {
      const client = await this.#connect();
      if (!this.#options.own || (this.#opened.get(client) ?? 0) >= this.#generation) return client;
      this.giveBack(client, true);
    }
  }

  giveBack(client: PoolClient, isBroken: boolean): void {
    // The pool's own `end` waits for an answer, which a silent connection never gives.
    if (isBroken) destroy(client);
    client.release(isBroken);
  }

  /** Replaces every open connection before its next use. */
  replaceAll(): void {
    this.#generation++;
  }

  /** Closes Amends' own pool. Connections that do not close in time are destroyed, so that the process can exit. */
  async close(): Promise<void> {
    const { own, pool, clock } = this.#options;
    if (!own || pool.ended || pool.ending) return;
    await within(clock, CLOSE_MS, pool.end());
    for (const socket of this.#sockets) socket.destroy?.();
  }

  async #connect(): Promise<PoolClient> {
    const { own, pool, connectMs } = this.#options;
    const connecting = pool.connect();
    // The driver has a timeout for connections of Amends' own pool.
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

  /** Remembers a connection from before it connects, because a silent server may never let it. */
  remember(client: ClientBase): void {
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

/** Destroys a connection without a message. */
function destroy(client: ClientBase): void {
  socketOf(client)?.destroy?.();
}

/** Closes a connection; destroys it if the other side does not answer. */
export async function endClient(client: Client): Promise<void> {
  await within(
    systemClock,
    CLOSE_MS,
    client.end().catch(() => undefined),
  );
  destroy(client);
}

/** The driver's error for a statement that exceeded `query_timeout`. */
export function isSilence(error: unknown): boolean {
  return error instanceof Error && error.message === "Query read timeout";
}
