// Publishing many events in one transaction against bare multi-row inserts of the same rows into the same kind of table, in
// turns on one connection of the same driver.
import pg from "pg";
import { Amends } from "../../dist/index.js";
import { postgres } from "../../dist/postgres.js";
import { note, Noted } from "./trivial-events.mjs";

/** What a bare insert writes: the same columns, with a primary key, a thousand rows at a time. */
const bareRows = 1_000;

const events = 10_000;

export async function open({ url }) {
  const amends = new Amends({ database: postgres({ url }), events: [note] });
  await amends.migrate();
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(
    "create table bare (entry_id uuid primary key, kind text not null, name text not null, event_id uuid, event_version integer, payload text, handler text, status text not null, enqueued_at timestamptz not null)",
  );
  const publish = async () => {
    const list = Array.from({ length: events }, (_, n) => Noted({ key: `k${n}` }));
    await client.query("begin");
    await amends.events.publish(list, { tx: client });
    await client.query("commit");
  };
  const insert = async () => {
    const list = Array.from({ length: events }, (_, n) => Noted({ key: `k${n}` }));
    await client.query("begin");
    for (let at = 0; at < list.length; at += bareRows)
      await insertRows(client, list.slice(at, at + bareRows));
    await client.query("commit");
  };
  return {
    slice: async () => ({
      published_per_s: await rate(publish, events),
      bare_inserts_per_s: await rate(insert, events),
    }),
    async close() {
      await client.end();
      await amends.close();
    },
  };
}

async function insertRows(client, list) {
  const values = list.flatMap(({ id, key }) => [
    id,
    "delivery",
    "Noted",
    id,
    1,
    JSON.stringify({ key }),
    "note",
    "pending",
  ]);
  const rows = list.map((_, row) => {
    const places = Array.from({ length: 8 }, (_unused, column) => `$${row * 8 + column + 1}`);
    return `(${places.join(", ")}, statement_timestamp())`;
  });
  await client.query(
    `insert into bare (entry_id, kind, name, event_id, event_version, payload, handler, status, enqueued_at) values ${rows.join(", ")}`,
    values,
  );
}

async function rate(work, count) {
  const begun = performance.now();
  await work();
  return (count * 1000) / (performance.now() - begun);
}
