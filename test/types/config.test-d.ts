import { saga } from "amends";
import { createAmends, defineConfig } from "amends/config";
import { dataMap } from "amends/erasure";
import type { PublishOptions } from "amends/events";
import { postgres } from "amends/postgres";
import { sqlite, type SqliteHandle } from "amends/sqlite";
import type { ClientBase } from "pg";
import { assertType, describe, expectTypeOf, it } from "vitest";
import { z } from "zod";

const order = saga("order", z.object({ id: z.string() })).step("one", { act: () => 1 });

describe("a config", () => {
  it("[P-03] takes what `new Amends` takes, and settings of the command line", () => {
    const map = dataMap({
      users: { subject: "id", columns: { email: { category: "contact", strategy: "anonymize" } } },
    });
    assertType(
      defineConfig({
        database: "shop.db",
        sagas: [order],
        events: [],
        calls: { define: [], retry: { attempts: 3 } },
        webhooks: {},
        erasure: { dataMap: map },
        retention: { sagas: "90d" },
        worker: { poll: "1s" },
        console: { port: 7007 },
      }),
    );
    // @ts-expect-error there is no such option
    defineConfig({ saggas: [order] });
    // @ts-expect-error a duration has a unit
    defineConfig({ worker: { poll: "often" } });
  });

  it("[P-03] gives an Amends whose transactions are those of its database", () => {
    const one = createAmends(defineConfig({ database: sqlite(":memory:") }));
    expectTypeOf(one.webhooks.publish).parameter(1).toEqualTypeOf<PublishOptions<SqliteHandle> | undefined>();
    const other = createAmends(defineConfig({ database: postgres("postgres://x") }));
    expectTypeOf(other.webhooks.publish).parameter(1).toEqualTypeOf<PublishOptions<ClientBase> | undefined>();
  });
});
