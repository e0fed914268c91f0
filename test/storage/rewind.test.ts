/** A PostgreSQL that has lost commits that it had acknowledged, and one that has become a standby. */
import { Amends, err, saga, type AnySaga, type Logger } from "amends";
import { postgres } from "amends/postgres";
import pg from "pg";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { z } from "zod";
import { claimCount } from "../../src/core/claim-token.ts";
import { createDatabase, type PostgresServer } from "../../tools/postgres-server.mjs";
import { gate, type Gate } from "../sagas/support/gate.ts";
import { describeOn } from "../support/databases.ts";
import { startOwnServer } from "../support/own-server.ts";
import { applicationPool } from "../support/pool.ts";
import { proxyTo, type Proxy } from "./support/proxy.ts";
import { backUp, type Backup } from "./support/rewind.ts";

const nothing = z.object({});

let primary: PostgresServer;
let proxy: Proxy;
const cleanups: (() => Promise<unknown> | void)[] = [];

beforeEach(async () => {
  primary = await startOwnServer();
  cleanups.push(() => primary.stop());
  await createDatabase(primary.url, "shop");
  proxy = await proxyTo(shopOn(primary));
  cleanups.push(() => proxy.close());
});

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

function shopOn(server: PostgresServer): string {
  const url = new URL(server.url);
  url.pathname = "/shop";
  return url.href;
}

interface Shop {
  readonly amends: Amends;
  readonly errors: string[];
}

/** Through the proxy, unless told otherwise: wherever that leads. */
async function open(sagas: readonly AnySaga[], url: string = proxy.url): Promise<Shop> {
  const errors: string[] = [];
  const note = (fields: object, message: string): void =>
    void errors.push(`${message} ${JSON.stringify(fields)}`);
  const logger: Logger = { info: () => undefined, warn: () => undefined, error: note };
  const amends = new Amends({ database: postgres(url), sagas, logger });
  cleanups.push(() => amends.close({ deadline: "0s" }));
  await amends.migrate();
  return { amends, errors };
}

async function backup(): Promise<Backup> {
  const made = await backUp(primary);
  cleanups.push(() => made.remove());
  return made;
}

/** The primary is gone, and the backup takes its place. */
async function failOver(from: Backup): Promise<PostgresServer> {
  const promoted = await from.start("primary");
  cleanups.push(() => promoted.stop());
  await primary.stop();
  proxy.leadTo(shopOn(promoted));
  return promoted;
}

async function rowsOn<Row extends pg.QueryResultRow>(server: PostgresServer, text: string): Promise<Row[]> {
  const client = new pg.Client(shopOn(server));
  await client.connect();
  const { rows } = await client.query<Row>(text);
  await client.end();
  return rows;
}

/** Charges, which is held, then ships. */
function orders(held: Gate<unknown>, calls: string[]) {
  return saga("order", nothing)
    .step("charge", {
      act: async () => {
        calls.push("charge");
        await held.pass();
      },
      compensate: () => void calls.push("refund"),
    })
    .step("ship", { act: () => void calls.push("ship") });
}

describeOn("postgres", () => {
  it("[K-06][S-16] after a failover that lost a claim, the worker that had it writes nothing more", async () => {
    const calls: string[] = [];
    const held = gate<unknown>();
    const order = orders(held, calls);
    const declined = saga("order", nothing)
      .step("charge", { act: () => 1, compensate: () => void calls.push("other refund") })
      .step("ship", { act: () => err("sold out") });
    const first = await open([order]);
    // Recorded before the backup, claimed after it.
    await first.amends.start(order, {}, { id: "o-1" });
    const before = await backup();
    await first.amends.worker().start();
    await held.reached;
    const promoted = await failOver(before);
    const second = await open([declined], shopOn(promoted));
    await second.amends.worker().start();
    await vi.waitFor(async () => expect((await second.amends.inspect("o-1"))?.status).toBe("FAILED"), 20_000);
    const lines = (await second.amends.inspect("o-1"))?.revision;
    held.open(undefined);
    await vi.waitFor(() => expect(first.amends.counters.lost).toBe(1), 20_000);
    expect(calls).toEqual(["charge", "other refund"]);
    expect(await second.amends.inspect("o-1")).toMatchObject({ status: "FAILED", revision: lines });
  });

  it("[K-06] a claim that was lost and the next one never have the same token", async () => {
    const held = gate<unknown>();
    const order = orders(held, []);
    const first = await open([order]);
    await first.amends.start(order, {}, { id: "o-1" });
    const before = await backup();
    await first.amends.worker().start();
    await held.reached;
    const token = "select token::text from amends.saga_executions where id = 'o-1'";
    const [lost] = await rowsOn<{ token: string }>(primary, token);
    const promoted = await failOver(before);
    const second = await open([order], shopOn(promoted));
    await second.amends.worker().start();
    await vi.waitFor(async () =>
      expect((await rowsOn<{ token: string }>(promoted, token))[0]?.token).not.toBe("0"),
    );
    const [next] = await rowsOn<{ token: string }>(promoted, token);
    expect([lost, next].map((row) => claimCount(Number(row?.token)))).toEqual([1, 1]);
    expect(next?.token).not.toBe(lost?.token);
    held.open(undefined);
  });

  it("[K-12] a worker stops a saga whose row the database has lost, says so, and leaves no line behind", async () => {
    const calls: string[] = [];
    const held = gate<unknown>();
    const order = orders(held, calls);
    const { amends, errors } = await open([order]);
    const before = await backup();
    await amends.worker().start();
    const run = await amends.start(order, {}, { id: "o-1" });
    expect(run.created).toBe(true);
    await held.reached;
    const promoted = await failOver(before);
    held.open(undefined);
    await vi.waitFor(() => expect(amends.counters.lost).toBe(1), 20_000);
    expect(calls).toEqual(["charge"]);
    expect(errors.filter((line) => line.includes("went back in time"))).toHaveLength(1);
    expect(await rowsOn(promoted, "select saga_id from amends.saga_logs")).toEqual([]);
    // As the advice for an unreachable database says: the same id again is a saga of its own.
    const again = await amends.start(order, {}, { id: "o-1" });
    expect(again.created).toBe(true);
    expect(await again.result()).toMatchObject({ status: "COMPLETED" });
    expect(calls).toEqual(["charge", "charge", "ship"]);
  });

  it("[K-12] a worker stops a saga of which the database has lost steps, says so, and it goes on from what is left", async () => {
    const calls: string[] = [];
    const [first, second] = [gate<unknown>(), gate<unknown>()];
    const order = saga("order", nothing)
      .step("reserve", { act: () => (calls.push("reserve"), first.pass()) })
      .step("charge", { act: () => (calls.push("charge"), second.pass()) })
      .step("ship", { act: () => void calls.push("ship") });
    const { amends, errors } = await open([order]);
    await amends.worker({ poll: "100ms" }).start();
    await amends.start(order, {}, { id: "o-1" });
    await first.reached;
    const before = await backup();
    first.open(undefined);
    await second.reached;
    await failOver(before);
    second.open(undefined);
    await vi.waitFor(() => expect(amends.counters.lost).toBe(1), 20_000);
    expect(errors.filter((line) => line.includes("has forgotten steps"))).toHaveLength(1);
    // Its lease was lost with the rest of it, and the next claim repeats what is not on record, under the same keys.
    expect(calls).toEqual(["reserve", "charge"]);
    expect(await amends.inspect("o-1")).toMatchObject({ status: "RUNNING", revision: 1 });
  });

  it("[S-16] lines without a row keep nobody from working: a new saga with that id stalls, and the others go on", async () => {
    const order = saga("order", nothing).step("charge", { act: () => 1 });
    const { amends } = await open([order]);
    const line = (id: number, step: string): string =>
      `insert into amends.saga_logs (saga_id, id, token, step_name, action, status, details, created_at)
       values ('o-1', ${id}, 4294967299, '${step}', 'act', 'COMPLETED', null, now() - interval '1 hour')`;
    await rowsOn(primary, `${line(2, "charge")}; ${line(3, "ship")}`);
    await amends.start(order, {}, { id: "o-1" });
    await amends.start(order, {}, { id: "o-2" });
    await amends.worker().start();
    expect(await (await amends.get("o-2")).result()).toMatchObject({ status: "COMPLETED" });
    await vi.waitFor(async () => {
      const [item] = (await amends.attention.list()).items;
      expect(item).toMatchObject({ kind: "stalled-saga", id: "o-1" });
      expect(item?.reason).toContain("lines from before it was created");
    });
    // The same where the starting process runs the saga itself.
    await rowsOn(primary, line(2, "charge").replace("o-1", "o-3"));
    await amends.start(order, {}, { id: "o-3" });
    await amends.start(order, {}, { id: "o-4" });
    expect(await (await amends.get("o-4")).result()).toMatchObject({ status: "COMPLETED" });
  });

  it.each(["our own pool", "a caller's pool"])(
    "[K-12] connections to a server that has become a standby are dropped at once (%s)",
    async (whose) => {
      const order = saga("order", nothing).step("charge", { act: () => 1 });
      await open([order]);
      const before = await backup();
      const standby = await before.start("standby");
      cleanups.push(() => standby.stop());
      proxy.leadTo(shopOn(standby));
      const pool = applicationPool(proxy.url, 1);
      const database = whose === "our own pool" ? postgres(proxy.url) : postgres({ pool });
      const amends = new Amends({ database, sagas: [order] });
      cleanups.push(() => amends.close({ deadline: "0s" }).then(() => pool.end()));
      await expect(amends.start(order, {}, { id: "o-1" })).rejects.toMatchObject({
        code: "DATABASE_READ_ONLY",
      });
      // The address leads to the primary again, and nobody cuts a connection.
      proxy.leadNew(shopOn(primary));
      expect((await amends.start(order, {}, { id: "o-1" })).created).toBe(true);
    },
  );
});
