// The plain loop that people write by hand: a row when the saga starts, then one row per finished step, each in a commit of
// its own. One prepared statement per commit, so that nothing but the commit itself is left to save.
import { randomUUID } from "node:crypto";
import pg from "pg";

const insertSaga = { name: "saga", text: "insert into saga (id, input) values ($1, $2)" };
const insertStep = {
  name: "step",
  text: "insert into saga_step (saga_id, version, name, status, result) values ($1, $2, $3, 'COMPLETED', $4)",
};
const steps = ["a", "b", "c", "d", "e"];

export async function createTables(client) {
  await client.query(`
    create table saga (
      id uuid primary key, input text not null, status text not null default 'RUNNING', created_at timestamptz not null default now()
    );
    create table saga_step (
      saga_id uuid not null, version int not null, name text not null, status text not null, result text,
      created_at timestamptz not null default now(), primary key (saga_id, version)
    )`);
}

/** One connection per lane: a lane has at most one commit under way. */
export async function open({ url, lanes }) {
  const clients = await Promise.all(Array.from({ length: lanes }, () => connect(url)));
  await createTables(clients[0]);
  return {
    one: (lane, n) => commitPerStep(clients[lane], n),
    close: () => Promise.all(clients.map((client) => client.end())),
  };
}

/** One saga: a commit for its start and one for each step. */
export async function commitPerStep(client, n) {
  const id = randomUUID();
  await client.query({ ...insertSaga, values: [id, JSON.stringify({ n })] });
  for (let version = 0; version < steps.length; version++) {
    const result = { n: 1 };
    await client.query({ ...insertStep, values: [id, version, steps[version], JSON.stringify(result)] });
  }
}

async function connect(url) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  return client;
}
