/** A server that does not sync its log to disk: refused, unless that is decided. */
import { createServer } from "node:net";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { PGlite } from "@electric-sql/pglite";
import { PGLiteSocketServer } from "@electric-sql/pglite-socket";
import { Amends, saga } from "amends";
import { postgres } from "amends/postgres";
import { afterAll, beforeAll, expect, it } from "vitest";
import { z } from "zod";
import { settingsOf } from "../../src/cli/doctor/settings.ts";
import type { Health, Overview } from "../../src/console/contract.ts";
import type { PostgresServer } from "../../tools/postgres-server.mjs";
import { visit } from "../console/support/visit.ts";
import { describeOn } from "../support/databases.ts";
import { startOwnServer } from "../support/own-server.ts";
import { OWN_TABLES, runEveryPart } from "../support/every-part.ts";

const one = saga("one", z.object({})).step("one", { act: () => 1 });

describeOn("postgres", () => {
  let server: PostgresServer;
  beforeAll(async () => void (server = await startOwnServer({ fsync: "off" })));
  afterAll(() => server.stop());

  it("[C-05][X-04] a PostgreSQL that runs without fsync is refused, and the message names the option that accepts it", async () => {
    const amends = new Amends({ database: postgres(server.url), sagas: [one] });
    for (const refused of [amends.migrate(), amends.worker().start()]) {
      await expect(refused).rejects.toMatchObject({
        code: "DATABASE_UNSAFE",
        message: expect.stringContaining('`durability: "server"`') as unknown,
      });
    }
    await amends.close();
  });

  it('[C-05] with `durability: "server"` it works, and the doctor and the console show it', async () => {
    const database = postgres({ url: server.url, durability: "server" });
    const amends = new Amends({ database, sagas: [one] });
    await amends.migrate();
    await amends.worker().start();
    expect(await (await amends.start(one, {})).result()).toMatchObject({ status: "COMPLETED" });
    const found = await settingsOf(database, 10);
    expect(found.find(({ check }) => check === "durability")).toMatchObject({
      level: "warn",
      detail: expect.stringContaining('`durability: "server"` accepts that') as unknown,
    });
    const pages = visit(amends);
    expect(await pages.get<Overview>("reader", "/api/overview")).toMatchObject({ durability: "server" });
    const { checks = [] } = await pages.get<Health>("reader", "/api/ready");
    expect(checks[0]?.detail).toContain("fsync off");
    await amends.close();
  });
});

it("[C-05] PGlite works for tests: all parts, on several connections", async () => {
  const db = await PGlite.create();
  const listener = new PGLiteSocketServer({ db, port: await freePort(), maxConnections: 40 });
  await listener.start();
  const url = `postgres://postgres:postgres@${listener.getServerConn()}/postgres`;
  for (const statement of OWN_TABLES) await db.exec(statement);
  const owner = new Amends({ database: postgres({ url, durability: "server" }), sagas: [] });
  await owner.migrate();
  await owner.close();
  const open = (): ReturnType<typeof postgres> => postgres({ url, durability: "server", connections: 2 });
  await expect(runEveryPart({ url, open })).resolves.toBeUndefined();
  await listener.stop();
  await db.close();
});

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const { port } = probe.address() as AddressInfo;
  probe.close();
  return port;
}
