import { Amends, err, ok, saga, type SagaFailure } from "amends";
import { postgres, type Database } from "amends/postgres";
import type { Stored } from "amends/sagas";
import { sqlite, type SqliteHandle } from "amends/sqlite";
import type pg from "pg";
import { expectTypeOf, it } from "vitest";
import { z } from "zod";

const order = saga("order", z.object({ sku: z.string(), cents: z.number().default(0) }))
  .step("reserve", { act: () => ({ id: "r-1" }) })
  .step("charge", {
    act: ({ input }) => (input.cents > 9 ? err("declined") : ok({ at: new Date() })),
  })
  .step("check", { act: ({ input }) => (input.cents > 5 ? err({ limit: input.cents }) : undefined) });

const onSqlite = new Amends({ database: sqlite(":memory:"), sagas: [order] });
const onPostgres = new Amends({ database: postgres("postgres://localhost/shop"), sagas: [order] });

it("[S-18] a saga is started with what its schema takes, and nothing else compiles", () => {
  expectTypeOf(onSqlite.start(order, { sku: "tea" })).resolves.toHaveProperty("result");
  void onSqlite.start(order, { sku: "tea", cents: 7 }, { id: "o-1" });
  // @ts-expect-error the schema asks for a sku
  void onSqlite.start(order, {});
  // @ts-expect-error a price is a number
  void onSqlite.start(order, { sku: "tea", cents: "7" });
  // @ts-expect-error there is no colour in it
  void onSqlite.start(order, { sku: "tea", colour: "green" });
  // @ts-expect-error an input is asked for
  void onSqlite.start(order);
  // @ts-expect-error an id is a text
  void onSqlite.start(order, { sku: "tea" }, { id: 7 });
});

it("[S-19] `tx` is the database's own kind of transaction", () => {
  expectTypeOf(onSqlite).toEqualTypeOf<Amends<SqliteHandle>>();
  expectTypeOf(onPostgres).toEqualTypeOf<Amends<pg.ClientBase>>();
  const client = null as unknown as pg.PoolClient;
  const handle = null as unknown as SqliteHandle;
  void onPostgres.start(order, { sku: "tea" }, { tx: client });
  void onSqlite.start(order, { sku: "tea" }, { tx: handle });
  // @ts-expect-error a SQLite handle is no client of PostgreSQL
  void onPostgres.start(order, { sku: "tea" }, { tx: handle });
  // @ts-expect-error nor the other way round
  void onSqlite.start(order, { sku: "tea" }, { tx: client });
  expectTypeOf(postgres({ url: "" })).toEqualTypeOf<Database<pg.ClientBase>>();
});

it("[S-18] the outcome tells its cases apart, with results and errors typed", async () => {
  const outcome = await (await onSqlite.start(order, { sku: "tea" })).result();
  expectTypeOf(outcome.status).toEqualTypeOf<"COMPLETED" | "FAILED" | "STALLED">();
  // @ts-expect-error only a completed saga has all its results
  void outcome.results;
  switch (outcome.status) {
    case "COMPLETED":
      expectTypeOf(outcome.results.reserve).toEqualTypeOf<{ id: string }>();
      expectTypeOf(outcome.results.charge).toEqualTypeOf<{ readonly at: string }>();
      expectTypeOf(outcome.results.check).toEqualTypeOf<undefined>();
      // @ts-expect-error a saga that completed has no error
      void outcome.error;
      break;
    case "FAILED":
      expectTypeOf(outcome.error).toEqualTypeOf<SagaFailure<"declined" | { readonly limit: number }>>();
      if (outcome.error.kind === "err") {
        expectTypeOf(outcome.error.value).toEqualTypeOf<"declined" | { readonly limit: number }>();
      } else {
        expectTypeOf(outcome.error.label).toEqualTypeOf<string>();
        // @ts-expect-error of what was thrown only the label is kept
        void outcome.error.value;
      }
      break;
    case "STALLED":
      expectTypeOf(outcome.reason).toEqualTypeOf<string>();
      expectTypeOf(outcome.undoErrors[0]?.step).toEqualTypeOf<string | undefined>();
      break;
  }
});

it("[S-14] people's actions ask for a reason", () => {
  expectTypeOf(onSqlite.retry("o-1", { reason: "the bank has opened", by: "ann" })).resolves.toHaveProperty(
    "status",
  );
  // @ts-expect-error without a reason nobody knows why
  void onSqlite.retry("o-1", {});
  // @ts-expect-error a saga is resolved as COMPLETED or FAILED
  void onSqlite.resolve("o-1", "STALLED", { reason: "x" });
  // @ts-expect-error which step is skipped must be said
  void onSqlite.skip("o-1", { reason: "x" });
});

it("[S-01] what is stored is typed as it is read back", () => {
  expectTypeOf<Stored<Date>>().toEqualTypeOf<string>();
  expectTypeOf<Stored<{ at: Date; run: () => void; tags: readonly Date[] }>>().toEqualTypeOf<{
    at: string;
    tags: readonly string[];
  }>();
  expectTypeOf<Stored<bigint>>().toEqualTypeOf<never>();
  expectTypeOf<Stored<"a" | 1 | null | undefined>>().toEqualTypeOf<"a" | 1 | null | undefined>();
  expectTypeOf<Stored<{ toJSON(): { n: Date } }>>().toEqualTypeOf<{ n: string }>();
});
