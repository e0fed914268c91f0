/**
 * Amends through a pooler in transaction mode. `npm test` uses a pooler of its own, `npm run poolers` a real PgBouncer with its
 * defaults, and more sagas.
 */
import { saga } from "amends";
import { postgres } from "amends/postgres";
import { inject, it, expect, onTestFinished } from "vitest";
import { z } from "zod";
import { raw } from "../../src/storage/sql.ts";
import { startPgBouncer } from "../../tools/pgbouncer.mjs";
import { onDatabase, type TestDatabase } from "../support/databases.ts";
import { OWN_TABLES, runEveryPart } from "../support/every-part.ts";
import { startTestPooler, type Pooler } from "./support/transaction-pooler.ts";

const isReal = process.env["AMENDS_POOLER"] === "pgbouncer";
const SAGAS = isReal ? 10_000 : 300;

async function startPooler(): Promise<Pooler> {
  const server = inject("postgresUrl");
  const pooler = isReal
    ? { name: "PgBouncer", ...(await startPgBouncer(server)) }
    : await startTestPooler(server);
  onTestFinished(() => pooler.stop());
  return pooler;
}

async function migratedUrl(database: TestDatabase): Promise<string> {
  const owner = await database.open();
  for (const statement of OWN_TABLES) await owner.query(raw(statement));
  return database.place();
}

onDatabase("postgres", (database) => {
  it("[C-04] all parts work through a pooler in transaction mode, with nothing but its URL", async () => {
    const pooler = await startPooler();
    const url = pooler.through(await migratedUrl(database));
    const opened = new Map<string, ReturnType<typeof postgres>>();
    await runEveryPart({
      url,
      open: (process) => {
        const db = postgres({ url, connections: 3 });
        opened.set(process, db);
        return db;
      },
    });
    expect([...opened.values()].map(({ access }) => access?.isPooled)).toEqual([true, true, true, true]);
  });

  it("[C-04] sagas end, each step once, although the pooler restarts in their middle", async () => {
    const pooler = await startPooler();
    const url = pooler.through(await migratedUrl(database));
    const acts = new Map<string, number>();
    let restart: Promise<void> | undefined;
    const note = (key: string): void => {
      acts.set(key, (acts.get(key) ?? 0) + 1);
      if (acts.size >= SAGAS) restart ??= pooler.restart();
    };
    const walk = saga("walk", z.object({ n: z.number() }))
      .step("one", { act: ({ input }) => note(`${input.n}/one`) })
      .step("two", { act: ({ input }) => note(`${input.n}/two`) })
      .step("three", { act: ({ input }) => note(`${input.n}/three`) });
    const amends = await database.amends({ database: postgres(url), sagas: [walk], lease: "10s" });
    await amends.migrate();
    await database.worker(amends, { concurrency: 200 });
    const runs = await Promise.all(
      Array.from({ length: SAGAS }, (_, n) => amends.start(walk, { n }, { id: `w-${n}` })),
    );
    for (const run of runs) expect(await run.result()).toMatchObject({ status: "COMPLETED" });
    await restart;
    expect(restart).toBeDefined();
    expect(acts.size).toBe(3 * SAGAS);
    expect([...acts.values()].filter((count) => count > 1)).toEqual([]);
  });
});
