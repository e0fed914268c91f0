/** A service in a process of its own: it has one consumer of `Paid`, and says what it got. It publishes what it is told to. */
import { Amends } from "amends";
import { postgres } from "amends/postgres";
import { sqlite } from "amends/sqlite";
import type { Database } from "../../../src/storage/database.ts";
import { listening, Paid } from "./services.ts";

const [kind, place, name] = process.argv.slice(2) as [string, string, string];
const database = (kind === "postgres" ? postgres({ url: place, connections: 3 }) : sqlite(place)) as Database;
const seen: string[] = [];
const amends = new Amends({ database, events: [listening(name, seen)] });
const worker = amends.worker({ poll: "20ms" });
await worker.start();
process.send?.("ready");
process.on("message", (told: { readonly publish?: string; readonly expect?: number }) => {
  if (told.publish !== undefined)
    void amends.events.publish(Paid({ order: told.publish })).then(() => process.send?.("published"));
  else void answer(told.expect ?? 0);
});

async function answer(count: number): Promise<void> {
  while (seen.length < count) await new Promise((resolve) => setImmediate(resolve));
  process.send?.([...seen].toSorted());
}
