// The plain runner that people write by hand: a batch is claimed with one statement, and each outcome is recorded in a
// transaction of its own, which locks what its subject waits for, settles the entry and writes its audit events.
import pg from "pg";
import { randomUUID } from "node:crypto";
import { drainSide, numbers } from "../drain.mjs";

const claim = {
  name: "claim",
  text: `with due as materialized (
      select entry_id from outbox where status = 'pending' and (next_attempt_at is null or next_attempt_at <= now())
      order by enqueued_at, entry_id limit $1 for update skip locked)
    update outbox as o set status = 'in_flight', attempts = attempts + 1, last_attempt_at = now(),
      next_attempt_at = now() + interval '5 minutes'
    from due where o.entry_id = due.entry_id returning o.entry_id, o.subject_id`,
};
const lock = {
  name: "lock",
  text: "select entry_id, status from outbox where subject_id = $1 and operation = 'erase' order by entry_id for update",
};
const succeed = {
  name: "succeed",
  text: "update outbox set status = 'succeeded', next_attempt_at = null, last_error = null, payload = null where entry_id = $1",
};
const append = {
  name: "append",
  text: "insert into audit (event_id, type, subject_id, payload) values ($1, $2, $3, $4)",
};

/** It is slow: a slice of it is shorter. */
const entries = 3_000;

export async function open({ url, batch = 500 }) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(`
    create table outbox (
      entry_id uuid primary key, subject_id text not null, resolver text not null, ref_value text not null,
      operation text not null default 'erase', payload text, status text not null default 'pending',
      attempts int not null default 0, last_error text, enqueued_at timestamptz not null default now(),
      last_attempt_at timestamptz, next_attempt_at timestamptz
    );
    create index on outbox (enqueued_at, entry_id) where status = 'pending';
    create index on outbox (subject_id);
    create table audit (
      event_id uuid primary key, type text not null, subject_id text not null, payload text not null,
      at timestamptz not null default now()
    )`);
  const resolve = async () => undefined;
  return drainSide(entries, {
    enqueue: (from, to) =>
      client.query(
        `insert into outbox (entry_id, subject_id, resolver, ref_value)
         select id, 'subject-' || n, 'nothing', 'ref-' || n from unnest($1::uuid[], $2::int[]) as new (id, n)`,
        [numbers(from, to, () => randomUUID()), numbers(from, to, (n) => n)],
      ),
    async drain() {
      for (;;) {
        const { rows } = await client.query({ ...claim, values: [batch] });
        if (rows.length === 0) return;
        await Promise.all(rows.map(resolve));
        for (const row of rows) await settle(client, row);
      }
    },
    async left() {
      const { rows } = await client.query(
        "select count(*)::int as left from outbox where status <> 'succeeded'",
      );
      return rows[0].left;
    },
    close: () => client.end(),
  });
}

async function settle(client, { entry_id: id, subject_id: subject }) {
  const payload = JSON.stringify({ entry_id: id, resolver: "nothing" });
  await client.query("begin");
  const { rows } = await client.query({ ...lock, values: [subject] });
  await client.query({ ...append, values: [randomUUID(), "ERASURE_STEP_SUCCEEDED", subject, payload] });
  await client.query({ ...succeed, values: [id] });
  if (rows.every(({ entry_id: other, status }) => other === id || status === "succeeded")) {
    await client.query({ ...append, values: [randomUUID(), "ERASURE_COMPLETED", subject, "{}"] });
  }
  await client.query("commit");
}
