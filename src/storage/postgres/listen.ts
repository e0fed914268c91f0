/**
 * Listens for notifications. They are only hints: a broken connection is reopened, and polling finds work that was
 * announced meanwhile. A periodic query checks that the listening connection still answers; a silent one would
 * otherwise stay in use forever. Through a pooler nobody listens: it would accept LISTEN and deliver nothing.
 */
import type { Client, QueryConfig } from "pg";
import { sleep, type Clock } from "../clock.ts";
import { CHANNEL } from "./dialect.ts";
import { endClient } from "./pool.ts";
import type { Route } from "./route.ts";

const RECONNECT_MS = 1_000;
const ASK_EVERY_MS = 20_000;
const ANSWER_MS = 2_000;

/** LISTEN is not supported, or not allowed: no later attempt succeeds. */
const REFUSED = /^(?:0A000|08P01|42\w{3})$/;

export interface ListenOptions {
  /** A new client; undefined if notifications cannot reach it. */
  readonly connect: () => Client | undefined;
  readonly schema: string;
  readonly clock: Clock;
  readonly route: Pick<Route, "onPooled">;
  readonly onNotice: () => void;
  readonly onHearing: ((isHearing: boolean) => void) | undefined;
}

export function listen({ connect, schema, clock, route, onNotice, onHearing }: ListenOptions): () => void {
  const stop = new AbortController();
  let current: Client | undefined;

  const once = async (): Promise<void> => {
    const client = connect();
    if (!client) return stop.abort();
    current = client;
    const over = new AbortController();
    const broken = new Promise<void>((resolve) => {
      client.once("error", () => resolve());
      client.once("end", () => resolve());
      // Removed with the connection: a long outage opens many.
      const { signal } = over;
      stop.signal.addEventListener("abort", () => resolve(), { once: true, signal });
    });
    client.on("notification", onNotice);
    try {
      await client.connect();
      await client.query(`listen "${CHANNEL}:${schema}"`).catch((error: unknown) => {
        if (REFUSED.test(String((error as { code?: unknown }).code))) stop.abort();
        throw error;
      });
      onHearing?.(true);
      onNotice(); // work that was announced before LISTEN
      await Promise.race([broken, silence(client, over.signal)]);
    } finally {
      onHearing?.(false);
      over.abort();
      client.on("error", () => undefined);
      await endClient(client);
    }
  };

  /** Rejects when the connection does not answer. */
  const silence = async (client: Client, over: AbortSignal): Promise<void> => {
    while (!over.aborted) {
      await sleep(clock, ASK_EVERY_MS, over);
      if (!over.aborted) await client.query({ text: "select 1", query_timeout: ANSWER_MS } as QueryConfig);
    }
  };

  const forever = async (): Promise<void> => {
    while (!stop.signal.aborted) {
      await once().catch(() => undefined);
      if (!stop.signal.aborted) await sleep(clock, RECONNECT_MS, stop.signal);
    }
  };
  // The loop then opens another connection, or ends if no connection receives notifications through the pooler.
  const forget = route.onPooled(() => current && void endClient(current));
  void forever().finally(forget);
  return () => {
    stop.abort();
    if (current) void endClient(current);
  };
}
