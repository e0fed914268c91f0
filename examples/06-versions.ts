/** A saga keeps the steps that it began with. Old and new definitions are registered side by side until the old end. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { Amends, saga, type AnySaga } from "amends";
import { sqlite } from "amends/sqlite";
import { z } from "zod";

const input = z.object({ name: z.string() });

const v1 = saga("welcome", input)
  .step("create-account", { act: () => "account" })
  .step("send-letter", { act: () => "letter" });

const v2 = saga("welcome", input, { version: 2 })
  .step("create-account", { act: () => "account" })
  .step("send-mail", { act: () => "mail" });

/** What not to do: the same version with another list of steps. */
const v1Changed = saga("welcome", input)
  .step("create-account", { act: () => "account" })
  .step("send-mail", { act: () => "mail" });

const folder = mkdtempSync(path.join(tmpdir(), "amends-versions-"));

async function deploy(sagas: readonly AnySaga[]): Promise<Amends> {
  const amends = new Amends({ database: sqlite(path.join(folder, "app.db")), sagas });
  await amends.migrate();
  return amends;
}

// The first release takes two sagas and goes down before it has run them.
const first = await deploy([v1]);
await first.start(v1, { name: "ann" }, { id: "w-1" });
await first.start(v1, { name: "ben" }, { id: "w-2" });
await first.close();

// The second release knows both versions: w-1 and w-2 would end as they began. One of them does here.
const second = await deploy([v1, v2]);
await second.worker({ concurrency: 1 }).runOnce();
await second.start(v2, { name: "cai" }, { id: "w-3" });
await second.close();

// A release that changed version 1 in place leaves alone what it cannot carry on. After ten minutes that needs a person.
const third = await deploy([v1Changed, v2]);
await third.worker().start();
for (const id of ["w-1", "w-2", "w-3"]) {
  const run = await third.get(id);
  if (id !== "w-2") await run.result();
  const view = await third.inspect(id);
  const done = Object.keys(view?.results ?? {}).join(", ");
  console.log(`${id} v${view?.version} ${view?.status}: ${done || "no worker has its steps"}`);
}
await third.close();
rmSync(folder, { recursive: true });
