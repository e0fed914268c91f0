/** The two engines of a test file: SQLite in a file, and a Restate server with a service of its own. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { Amends } from "../../../src/index.ts";
import { sqlite } from "../../../src/sqlite.ts";
import { Ledger } from "./ledger.ts";
import { startService, type Service } from "./node.ts";
import { onRestate } from "./on-restate.ts";
import { onSqlite } from "./on-sqlite.ts";
import { inAnyOrder, play, type Engine, type Played } from "./play.ts";
import { freePorts, startRestate, type RestateServer } from "./restate-server.ts";
import type { Stories, Story } from "./stories.ts";

export interface Both {
  readonly sqlite: Engine;
  readonly restate: Engine;
  readonly server: RestateServer;
  close(): Promise<void>;
}

/** `isDeadly`: the stories kill their process, so that a worker of its own runs them on SQLite, too. */
export async function openBoth(make: (ledger: Ledger) => Stories, isDeadly: boolean): Promise<Both> {
  const folder = mkdtempSync(path.join(tmpdir(), "amends-both-"));
  const at = (name: string): string => path.join(folder, name);
  const ledger = new Ledger(at("sqlite.txt"));
  const database = sqlite(at("amends.db"));
  const sagas = Object.values(make(ledger)).map(({ saga }) => saga);
  const amends = new Amends({ database, sagas, grace: "100ms" });
  await amends.migrate();
  const services: Service[] = [];
  const env = { AMENDS_LEDGER: at("sqlite.txt"), AMENDS_FILE: at("amends.db") };
  if (isDeadly) services.push(await startService("sqlite-service.ts", env));
  else await amends.worker({ poll: "50ms" }).start();
  const server = await startRestate();
  services.push(await serveStories(server, at("restate.txt")));
  return {
    sqlite: onSqlite(amends, database, ledger),
    restate: onRestate(server, new Ledger(at("restate.txt"))),
    server,
    async close() {
      for (const service of services) await service.stop();
      await server.close();
      await amends.close({ deadline: 0 });
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Serves the stories to a server. */
export async function serveStories(server: RestateServer, ledger: string): Promise<Service> {
  const [port] = await freePorts(1);
  const service = await startService("restate-service.ts", {
    AMENDS_LEDGER: ledger,
    AMENDS_PORT: String(port),
  });
  await service.said("ready");
  await server.register(`http://127.0.0.1:${port}`);
  return service;
}

/** What came of a story on both. */
export async function playOnBoth(
  both: Both,
  make: (ledger: Ledger) => Stories,
  name: string,
): Promise<Record<"onSqlite" | "onRestate", Played>> {
  const storyOf = ({ ledger }: Engine): Story => make(ledger)[name] as Story;
  const form = isOrdered(storyOf(both.sqlite)) ? (one: Played): Played => one : inAnyOrder;
  const onSqliteNow = form(await play(both.sqlite, storyOf(both.sqlite), `${name}-1`));
  const onRestateNow = form(await play(both.restate, storyOf(both.restate), `${name}-1`));
  return { onSqlite: onSqliteNow, onRestate: onRestateNow };
}

function isOrdered({ saga }: Story): boolean {
  return !saga.plan.some(({ group, each }) => group ?? each);
}
