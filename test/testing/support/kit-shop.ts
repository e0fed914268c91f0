/** A shop with one of everything: a saga, a flow with a handler, a call, a resolver and a webhook. It counts effects by key. */
import { Amends, err, ok, saga } from "amends";
import { defineCall } from "amends/calls";
import { dataMap } from "amends/erasure";
import { event, eventSaga, handler, step } from "amends/events";
import { openSqlite, sqlite, type Database, type SqliteHandle } from "amends/sqlite";
import { memoryResolver, testKit, virtualClock, type TestKit } from "amends/testing";
import { z } from "zod";

const data = z.object({ orderId: z.string() });
export const Placed = event("Placed", data);
const Reserved = event("Reserved", data);
const Gone = event("Gone", data);
const Release = event("Release", data);

export const HOOK = "https://partner.example/hooks";

export class KitShop {
  /** How often each effect was asked for, by name and key. */
  readonly effects = new Map<string, number>();
  readonly undone: string[] = [];
  /** The ids of the webhooks that the partner received. */
  readonly received: string[] = [];
  readonly crm = memoryResolver("crm");
  readonly #note = (what: string, key: string): void => {
    this.effects.set(`${what} ${key}`, (this.effects.get(`${what} ${key}`) ?? 0) + 1);
  };

  readonly order = saga("order", z.object({ to: z.string() }))
    .step("reserve", {
      act: ({ key }) => this.#note("reserve", key),
      compensate: () => void this.undone.push("reserve"),
    })
    .step("charge", {
      act: ({ key, input }) => {
        this.#note("charge", key);
        return input.to === "nobody" ? err("refused") : "paid";
      },
      compensate: () => void this.undone.push("charge"),
    })
    .sleep("cool-off", "3d")
    .pivot("ship", { act: ({ key }) => this.#note("ship", key) });

  readonly #reserveStock = handler("reserveStock", {
    on: Placed,
    ok: Reserved,
    err: Gone,
    retry: { attempts: 3, base: "1m" },
    handle: ({ orderId }, { key }) => {
      this.#note("reserveStock", key);
      return ok(Reserved({ orderId }));
    },
  });

  readonly #flow = eventSaga("flow", {
    trigger: Placed,
    correlate: "orderId",
    steps: [step("reserve", this.#reserveStock, { compensation: Release })],
    onCompleted: (orderId) => Reserved({ orderId }),
    onFailed: (orderId) => Gone({ orderId }),
  });

  readonly mail = defineCall("mail", {
    schema: z.object({ to: z.string() }),
    handle: (_, { key }) => this.#note("mail", key),
  });

  make(database: Database<SqliteHandle>): Amends<SqliteHandle, "name"> {
    return new Amends({
      database,
      sagas: [this.order],
      events: [this.#flow],
      calls: [this.mail],
      webhooks: {
        sender: {
          send: async ({ id }) => {
            this.received.push(id);
            return { ok: true, code: "200", status: 200, durationMs: 1 };
          },
          checkUrl: () => undefined,
          close: async () => undefined,
        },
      },
      erasure: {
        dataMap: dataMap({
          users: { subject: "id", columns: { name: { category: "name", strategy: "anonymize" } } },
        }),
        resolvers: [this.crm],
      },
    });
  }

  /** A kit on a database that the test writes to as well, through `handle`. */
  async kit(): Promise<{ readonly kit: TestKit<"name">; readonly handle: SqliteHandle }> {
    const handle = openSqlite(":memory:");
    handle.exec("create table users (id text primary key, name text not null)");
    handle.exec("insert into users values ('u-1', 'Ann')");
    const database = sqlite(handle, { clock: virtualClock() });
    return { kit: await testKit((one) => this.make(one), { database }), handle };
  }
}
