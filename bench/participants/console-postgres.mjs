// What the console's first page costs the database, among ten thousand sagas and among a million, one every 2.5 seconds: two
// databases, in turns. Each call is asked of a console of its own, so that nothing is shared with the call before; what counts
// is how long the server takes to plan and to carry out its statements, by its own clock.
import pg from "pg";
import { createConsole } from "../../dist/console.js";
import { Amends, err, saga } from "../../dist/index.js";
import { postgres } from "../../dist/postgres.js";
import { connectionDefaults } from "../../dist/storage/postgres/settings.js";
import { z } from "zod";

const CALLS = {
  session: "/api/session",
  overview: "/api/overview",
  history: "/api/overview/history",
  attention: "/api/attention",
  sagas: "/api/sagas?limit=40",
  sagas_failed: "/api/sagas?limit=40&status=FAILED",
};
const TOKEN = "a-token-of-at-least-32-characters";
const STALLED = 20;

const order = saga("place-order", z.object({ end: z.string() }), { compensateRetry: { attempts: 1 } })
  .step("reserve", {
    act: () => 1,
    compensate: ({ input }) => {
      if (input.end === "STALLED") throw new Error("no");
    },
  })
  .step("ship", { act: ({ input }) => (input.end === "COMPLETED" ? 1 : err("no-stock")) });

export async function open({ fewUrl, manyUrl, few, many }) {
  const sides = { few: await openOne(fewUrl, few), many: await openOne(manyUrl, many) };
  return {
    async slice() {
      const took = {};
      for (const [side, { ask }] of Object.entries(sides))
        for (const [call, path] of Object.entries(CALLS)) took[`${call}_ms_at_${side}`] = await ask(path);
      const pairs = Object.keys(CALLS).map((call) => [took[`${call}_ms_at_many`], took[`${call}_ms_at_few`]]);
      return {
        ...took,
        slowest_ms: Math.max(...pairs.map(([ms]) => ms)),
        // Below half a millisecond it is the planner that is measured.
        worst_growth: Math.max(...pairs.map(([at, from]) => at / Math.max(0.5, from))),
      };
    },
    async close() {
      for (const { close } of Object.values(sides)) await close();
    },
  };
}

async function openOne(url, count) {
  const recorded = recording(postgres({ url }));
  const amends = new Amends({ database: recorded.database, sagas: [order] });
  await amends.migrate();
  await fill(amends, url, count);
  const server = await explaining(url);
  const tokens = [{ name: "bench", roles: ["read"], token: TOKEN }];
  return {
    /** @returns {Promise<number>} milliseconds of the database */
    async ask(path) {
      const console = createConsole(amends, { tokens });
      recorded.forget();
      const response = await console.fetch(
        new Request(`http://127.0.0.1${path}`, {
          headers: { host: "127.0.0.1", authorization: `Bearer ${TOKEN}` },
        }),
      );
      if (response.status !== 200) throw new Error(`${path} answered ${response.status}.`);
      await response.text();
      console.close();
      return server.ms(recorded.asked());
    },
    async close() {
      await server.end();
      await amends.close();
    },
  };
}

/** A few that the library itself ran, the ended ones copied under other ids and instants. */
async function fill(amends, url, count) {
  const worker = amends.worker();
  for (const end of ["COMPLETED", "FAILED"]) await amends.start(order, { end }, { id: `original-${end}` });
  for (let n = 0; n < STALLED; n++) await amends.start(order, { end: "STALLED" }, { id: `stalled-${n}` });
  while ((await worker.runOnce()) > 0);
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  // Triggers guard what people may do to a finished saga; here nobody does anything to one.
  await client.query("set session_replication_role = replica");
  const { rows } = await client.query(
    `select column_name as name from information_schema.columns
     where table_schema = 'amends' and table_name = 'saga_executions' order by ordinal_position`,
  );
  const made = {
    id: `'01900000-0000-7000-8000-' || lpad(to_hex($1::int - n), 12, '0')`,
    created_at: `now() - n * interval '2.5 seconds' - interval '2 seconds'`,
    updated_at: `now() - n * interval '2.5 seconds'`,
  };
  const names = rows.map(({ name }) => name);
  const values = names.map((name) => made[name] ?? `original.${name}`);
  await client.query(
    `insert into amends.saga_executions (${names}) select ${values}
     from generate_series(1, $1::int) as n
     join amends.saga_executions as original
       on original.id = case n % 50 when 0 then 'original-FAILED' else 'original-COMPLETED' end`,
    [count],
  );
  await client.query("vacuum analyze");
  await client.query("checkpoint");
  await client.end();
}

/** A database that remembers what it was asked. */
function recording(db) {
  let asked = [];
  const noted = (statement) => {
    asked.push(statement);
    return statement;
  };
  const database = {
    dialect: db.dialect,
    clock: db.clock,
    open: () => db.open(),
    query: (statement) => db.query(noted(statement)),
    batch: (statements) => db.batch(statements.map(noted)),
    transaction: (work, foreign) => db.transaction(work, foreign),
    join: (tx) => db.join(tx),
    close: () => db.close(),
  };
  return { database, asked: () => asked, forget: () => void (asked = []) };
}

/** Planned as the library's own connections plan. */
async function explaining(url) {
  const client = new pg.Client({ ...connectionDefaults(60_000), connectionString: url });
  await client.connect();
  return {
    /** @returns {Promise<number>} milliseconds of planning and execution, by the server's own clock */
    async ms(statements) {
      let ms = 0;
      for (const { text, values } of statements) {
        const { rows } = await client.query(`explain (analyze, timing off, format json) ${text}`, values);
        const [plan] = rows[0]["QUERY PLAN"];
        ms += plan["Planning Time"] + plan["Execution Time"];
      }
      return ms;
    },
    end: () => client.end(),
  };
}
