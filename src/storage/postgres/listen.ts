/**
 * Hears when somebody notified. Only a hint: the connection is renewed when it breaks, and work that was announced
 * meanwhile is found by polling.
 */
import type { Client } from "pg";
import { sleep, type Clock } from "../clock.ts";
import { CHANNEL } from "./dialect.ts";

const RECONNECT_MS = 1_000;

export function listen(
  connect: () => Client,
  schema: string,
  clock: Clock,
  onNotice: () => void,
): () => void {
  const stop = new AbortController();
  let current: Client | undefined;

  const once = async (): Promise<void> => {
    const client = connect();
    current = client;
    const broken = new Promise<void>((resolve) => {
      client.once("error", () => resolve());
      client.once("end", () => resolve());
      stop.signal.addEventListener("abort", () => resolve(), { once: true });
    });
    client.on("notification", onNotice);
    try {
      await client.connect();
      await client.query(`listen "${CHANNEL}:${schema}"`);
      onNotice(); // whatever was announced before we listened
      await broken;
    } finally {
      client.on("error", () => undefined);
      await client.end().catch(() => undefined);
    }
  };

  const forever = async (): Promise<void> => {
    while (!stop.signal.aborted) {
      await once().catch(() => undefined);
      if (!stop.signal.aborted) await sleep(clock, RECONNECT_MS, stop.signal);
    }
  };
  void forever();
  return () => {
    stop.abort();
    void current?.end().catch(() => undefined);
  };
}
