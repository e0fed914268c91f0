/** Checks how the server is reached: what a pooler takes away and what that costs, and whether notifications arrive. */
import { sleep } from "../../storage/clock.ts";
import type { Database } from "../../storage/database.ts";
import { ok, warn, type Finding } from "./finding.ts";

const HEAR_MS = 2_000;

export async function accessOf(db: Database): Promise<readonly Finding[]> {
  if (db.dialect.name !== "postgres" || !db.access) return [];
  return [poolerFinding(db.access.isPooled), await wakeUpFinding(db, db.access.isPooled)];
}

function poolerFinding(isPooled: boolean): Finding {
  if (!isPooled) return ok("pooler", "none that lends each transaction another connection");
  return warn(
    "pooler",
    "a pooler lends each transaction another connection: statements are parsed and planned each time, and settings travel with each transaction",
    "Nothing is less safe. The server works more for each transaction (docs/guides/postgres.md, Poolers, has figures): give workers a URL that leads to the server itself if that matters.",
  );
}

/** Tried out: a notification of this process must come back to it. */
async function wakeUpFinding(db: Database, isPooled: boolean): Promise<Finding> {
  const notice = db.dialect.notify();
  if (!notice) return ok("wake-up", "turned off (`notify: false`): workers poll");
  if (await hears(db, async () => void (await db.query(notice))))
    return ok("wake-up", "a notification reaches this process");
  return warn(
    "wake-up",
    "no notification arrives: work that another process starts waits for the next poll (default: 1s)",
    isPooled
      ? "Pass `listenUrl`, a URL that leads to the server without the pooler, to `postgres`; or poll more often: worker({ poll })."
      : "Pass `listenUrl` to `postgres`, or poll more often: worker({ poll }).",
  );
}

/** The first call says that this process listens, the second that it heard. */
async function hears(db: Database, send: () => Promise<void>): Promise<boolean> {
  const over = new AbortController();
  let calls = 0;
  let heard = false;
  const stop = db.listen?.(() => {
    calls++;
    if (calls === 1) void send().catch(() => undefined);
    if (calls < 2) return;
    heard = true;
    over.abort();
  });
  await sleep(db.clock, HEAR_MS, over.signal);
  stop?.();
  return heard;
}
