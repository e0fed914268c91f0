// The plain loop on SQLite: one commit for the start, one per step, WAL and FULL. SQLite has one writer, so that more lanes
// than one would only queue; the calls are synchronous.
import { randomUUID } from "node:crypto";
import { openFile } from "../sqlite.mjs";

const steps = ["a", "b", "c", "d", "e"];

export async function open({ file }) {
  const database = await openFile(file);
  database.exec(`
    create table saga (
      id text primary key, input text not null, status text not null default 'RUNNING',
      created_at text not null default (strftime('%Y-%m-%dT%H:%M:%fZ'))
    ) strict;
    create table saga_step (
      saga_id text not null, version integer not null, name text not null, status text not null, result text,
      created_at text not null default (strftime('%Y-%m-%dT%H:%M:%fZ')), primary key (saga_id, version)
    ) strict, without rowid`);
  const insertSaga = database.prepare("insert into saga (id, input) values (?, ?)");
  const insertStep = database.prepare(
    "insert into saga_step (saga_id, version, name, status, result) values (?, ?, ?, 'COMPLETED', ?)",
  );
  return {
    async one(_lane, n) {
      const id = randomUUID();
      insertSaga.run(id, JSON.stringify({ n }));
      for (let version = 0; version < steps.length; version++) {
        insertStep.run(id, version, steps[version], JSON.stringify({ n: 1 }));
      }
      await breathe();
    },
    async close() {
      database.close();
    },
  };
}

/** Synchronous work never yields by itself; timers need a turn of the event loop. */
function breathe() {
  return new Promise((resolve) => setImmediate(resolve));
}
