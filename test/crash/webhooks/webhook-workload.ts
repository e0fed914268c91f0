/**
 * The workload of the webhook crash tests. The receivers record each request in a file, so that the recovering process
 * sees the same receivers: the first always succeeds, the second fails once for each event, the third always fails.
 */
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { Amends } from "amends";
import type { Database } from "../../../src/storage/database.ts";
import type { Sender } from "../../../src/webhooks/http/send.ts";

export interface Arrival {
  readonly url: string;
  readonly id: string;
  readonly ok: boolean;
}

export function arrivals(file: string): readonly Arrival[] {
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, "utf8").split("\n").filter(Boolean);
  return lines.map((line) => JSON.parse(line) as Arrival);
}

export type AtCall = (name: string) => Promise<void>;

export function receivers(file: string, atCall: AtCall = async () => undefined): Sender {
  let calls = 0;
  return {
    async send({ url, id }) {
      const call = ++calls;
      await atCall(`send ${call} before`);
      const before = arrivals(file).filter((one) => one.url === url && one.id === id).length;
      const ok = url.includes("healthy") || (url.includes("flaky") && before > 0);
      appendFileSync(file, `${JSON.stringify({ url, id, ok })}\n`);
      await atCall(`send ${call} after`);
      return { ok, code: ok ? "http_200" : "http_500", durationMs: 1 };
    },
    checkUrl: () => undefined,
    close: async () => undefined,
  };
}

export function webhooksOn(database: Database, sender: Sender, leaseMs: number): Amends {
  return new Amends({
    database,
    webhooks: {
      sender,
      lease: leaseMs,
      concurrency: 1,
      recoveries: 19,
      retry: { attempts: 2, base: 1, cap: 1 },
    },
  });
}

/** Delivers until no delivery is open. */
export async function drain(amends: Amends): Promise<void> {
  const worker = amends.worker();
  const isOpen = async (): Promise<boolean> => {
    for (const status of ["Pending", "InProgress", "PendingRetry"] as const)
      if ((await amends.webhooks.deliveries({ status, limit: 1 })).length > 0) return true;
    return false;
  };
  const startedAt = performance.now();
  while (await isOpen()) {
    if (performance.now() - startedAt > 25_000) throw new Error("deliveries are still open after 25 s");
    if ((await worker.runOnce()) === 0) await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** Runs until all is delivered or the process is killed. */
export async function runWorkload(amends: Amends, database: Database): Promise<void> {
  for (const name of ["healthy", "flaky", "failing"])
    await amends.webhooks.subscribe({ url: `https://${name}.example`, events: ["*"] });
  await database.transaction((_, tx) =>
    amends.webhooks.publish({ type: "order.placed", data: {}, id: "e-1" }, { tx }),
  );
  await drain(amends);
  const [letter] = await amends.webhooks.deadLetters();
  if (letter) await amends.webhooks.resend(letter.deliveryId, { reason: "another try" });
  await drain(amends);
}
