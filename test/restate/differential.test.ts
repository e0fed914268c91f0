/** The same sagas on SQLite and on Restate. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { Amends } from "amends";
import { sqlite } from "amends/sqlite";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Ledger } from "./support/ledger.ts";
import { startService, type Service } from "./support/node.ts";
import { onRestate } from "./support/on-restate.ts";
import { onSqlite } from "./support/on-sqlite.ts";
import { inAnyOrder, play, type Engine } from "./support/play.ts";
import { freePorts, startRestate, type RestateServer } from "./support/restate-server.ts";
import { storiesOn } from "./support/stories.ts";

const folder = mkdtempSync(path.join(tmpdir(), "amends-differential-"));
const at = (name: string): string => path.join(folder, name);
const ledger = new Ledger(at("sqlite.txt"));
const stories = storiesOn(ledger);
const database = sqlite(at("amends.db"));
const amends = new Amends({
  database,
  sagas: Object.values(stories).map(({ saga }) => saga),
  grace: "100ms",

});
let server: RestateServer;
let service: Service;
let engines: Readonly<Record<"sqlite" | "restate", Engine>>;

beforeAll(async () => {
  await amends.migrate();
  await amends.worker({ poll: "50ms" }).start();
  server = await startRestate();
  const [port] = await freePorts(1);
  const env = { AMENDS_LEDGER: at("restate.txt"), AMENDS_PORT: String(port) };
  service = await startService("restate-service.ts", env);
  await service.said("ready");
  await server.register(`http://127.0.0.1:${port}`);
  engines = {
    sqlite: onSqlite(amends, database, ledger),
    restate: onRestate(server, new Ledger(at("restate.txt"))),
  };
});

afterAll(async () => {
  await service?.stop();
  await server?.close();
  await amends.close({ deadline: 0 });
  rmSync(folder, { recursive: true, force: true });
});

describe.concurrent("the same saga on SQLite and on Restate", () => {
  for (const [name, story] of Object.entries(stories)) {
    it(`[R-07] comes to the same where it ${name.replaceAll("-", " ")}`, async () => {
      const expected = await play(engines.sqlite, story, `${name}-1`);
      const found = await play(engines.restate, story, `${name}-1`);
      const isOrdered = !story.saga.plan.some(({ group, each }) => group ?? each);
      if (isOrdered) expect(found).toEqual(expected);
      else expect(inAnyOrder(found)).toEqual(inAnyOrder(expected));
      expect(expected.lines.length).toBeGreaterThan(0);
    });
  }
});
