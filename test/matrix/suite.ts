/**
 * A short run of every part, on one runtime and one database. `npm run matrix` runs it, installed like any program of a
 * user, on several versions of both. It uses nothing but the package, `pg` and what all runtimes have.
 *
 *   suite.mjs postgres://… | file.db      prints what works, and ends with 1 at the first check that fails
 */
import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Amends, err, ok, saga, type Database } from "amends";
import { defineCall } from "amends/calls";
import { dataMap } from "amends/erasure";
import { event, handler, ok as answer } from "amends/events";
import { postgres } from "amends/postgres";
import { openSqlite, sqlite } from "amends/sqlite";
import { verifyWebhook } from "amends/webhooks/receive";
import pg from "pg";
import { z } from "zod";

/** The suite's own connection to the database: what a caller's transaction is made of. */
interface Own<Tx> {
  readonly database: Database<Tx>;
  readonly tx: Tx;
  run(statement: string): Promise<readonly unknown[]>;
  close(): Promise<void>;
}

async function ownPostgres(url: string): Promise<Own<pg.ClientBase>> {
  const client = new pg.Client(url);
  await client.connect();
  return {
    database: postgres(url),
    tx: client,
    run: async (statement) => (await client.query<Record<string, unknown>>(statement)).rows,
    close: () => client.end(),
  };
}

async function ownSqlite(file: string): Promise<Own<ReturnType<typeof openSqlite>>> {
  const handle = openSqlite(file);
  return {
    database: sqlite(file),
    tx: handle,
    run: async (statement) => handle.prepare(statement).all(),
    close: async () => void handle.close(),
  };
}

const schema = z.object({ orderId: z.string(), cents: z.number() });
const undone: string[] = [];
const placeOrder = saga("place-order", schema)
  .step("reserve", {
    act: ({ input }) => ({ reservation: `r-${input.orderId}` }),
    compensate: ({ result }) => void undone.push(result?.reservation ?? "unknown"),
  })
  .pivot("charge", { act: ({ input }) => (input.cents > 1_000 ? err("declined") : ok()) });

const Shipped = event("Shipped", z.object({ orderId: z.string() }));
const Packed = event("Packed", z.object({ orderId: z.string() }));
const NotPacked = event("NotPacked", z.object({ orderId: z.string() }));
const handled: string[] = [];
const pack = handler("pack", {
  on: Shipped,
  ok: Packed,
  err: NotPacked,
  handle: ({ orderId }) => {
    handled.push(orderId);
    return answer(Packed({ orderId }));
  },
});

const sent: string[] = [];
const sendMail = defineCall("send-mail", {
  schema: z.object({ orderId: z.string() }),
  handle: async ({ orderId }) => void sent.push(orderId),
});

async function until(what: string, isTrue: () => boolean): Promise<void> {
  for (const endsAt = Date.now() + 20_000; !isTrue(); await new Promise((done) => setTimeout(done, 20)))
    if (Date.now() > endsAt) throw new Error(`Not within 20 seconds: ${what}.`);
}

interface Receiver {
  readonly url: string;
  readonly received: { readonly headers: Record<string, string>; readonly body: string }[];
  close(): void;
}

async function openReceiver(): Promise<Receiver> {
  const received: Receiver["received"] = [];
  const server = createServer((request, response) => {
    let body = "";
    request.setEncoding("utf8").on("data", (text: string) => (body += text));
    request.on("end", () => {
      received.push({ headers: request.headers as Record<string, string>, body });
      response.end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    received,
    close: () => void server.close(),
  };
}

async function suite<Tx>(own: Own<Tx>): Promise<void> {
  const { tx } = own;
  const amends = new Amends<Tx>({
    database: own.database,
    sagas: [placeOrder],
    events: [pack],
    calls: [sendMail],
    webhooks: { sending: { allowHttp: true, allowPorts: "any", allowNetworks: ["127.0.0.1"] } },
    erasure: {
      dataMap: dataMap({
        users: { subject: "id", columns: { name: { category: "name", strategy: "anonymize" } } },
      }),
    },
  });
  const receiver = await openReceiver();
  const inTransaction = async (end: "commit" | "rollback", work: () => Promise<unknown>): Promise<void> => {
    await own.run("begin");
    await work();
    await own.run(end);
  };
  const checks: Record<string, () => Promise<void>> = {
    "a start in a transaction": async () => {
      for (const end of ["commit", "rollback"] as const)
        await inTransaction(end, async () => {
          await own.run(`insert into orders values ('${end}')`);
          await amends.start(placeOrder, { orderId: end, cents: 1 }, { id: end, tx });
        });
      assert.equal(await amends.inspect("rollback"), undefined);
      assert.equal((await (await amends.get("commit")).result()).status, "COMPLETED");
    },
    "a saga with compensation": async () => {
      const run = await amends.start(placeOrder, { orderId: "o-2", cents: 5_000 }, { id: "o-2" });
      assert.equal((await run.result()).status, "FAILED");
      assert.deepEqual(undone, ["r-o-2"]);
    },
    "an event": async () => {
      await inTransaction("commit", () => amends.events.publish(Shipped({ orderId: "o-3" }), { tx }));
      await until("the event was handled", () => handled.includes("o-3"));
    },
    "a call": async () => {
      await inTransaction("commit", () => amends.calls.enqueue(sendMail, { orderId: "o-4" }, { tx }));
      await until("the call was made", () => sent.includes("o-4"));
    },
    "a webhook": async () => {
      const { secret } = await amends.webhooks.subscribe({ url: receiver.url, events: ["order.*"] });
      await inTransaction("commit", () =>
        amends.webhooks.publish({ type: "order.placed", id: "e-1", data: { orderId: "o-5" } }, { tx }),
      );
      await until("the webhook was received", () => receiver.received.length > 0);
      const [request] = receiver.received;
      assert(request);
      const verified = await verifyWebhook(request.headers, request.body, secret);
      assert.equal(verified.id, "e-1");
    },
    "an erasure": async () => {
      await inTransaction("commit", () => amends.erasure.eraseSubject("u-1", [], { tx }));
      const [user] = (await own.run("select name from users where id = 'u-1'")) as { name: string }[];
      assert.notEqual(user?.name, "Ann");
      const types = (await amends.erasure.trail("u-1")).map(({ type }) => type);
      assert(types.includes("ERASURE_COMPLETED"));
    },
  };
  await amends.migrate();
  await own.run("create table orders (id text primary key)");
  await own.run("create table users (id text primary key, name text)");
  await own.run("insert into users values ('u-1', 'Ann')");
  await amends.worker({ poll: "100ms" }).start();
  for (const [name, check] of Object.entries(checks)) {
    await check();
    console.log(name);
  }
  await amends.close();
  await own.close();
  receiver.close();
}

const place = process.argv[2] ?? ":memory:";
await (place.startsWith("postgres:") || place.startsWith("postgresql:")
  ? suite(await ownPostgres(place))
  : suite(await ownSqlite(place)));
console.log("everything works");
