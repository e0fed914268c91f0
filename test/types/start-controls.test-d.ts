import { Amends, saga, sagaRef, type SagaRun } from "amends";
import { sqlite } from "amends/sqlite";
import type { AttributeValue, Count, ReferenceTo } from "amends/sagas";
import { expectTypeOf, it } from "vitest";
import { z } from "zod";

const schema = z.object({ sku: z.string() });
const free = saga("free", schema).step("one", { act: () => 1 });
const declared = saga("declared", schema, { attributes: ["tenant", "region"] })
  .step("one", { act: () => 1 })
  .parallel("both", (group) => group.step("left", { act: () => 1 }).step("right", { act: () => 2 }))
  .sleep("nap", "1s")
  .when(
    "large",
    () => true,
    (branch) => branch.step("check", { act: () => 1 }),
  )
  .pivot("two", { act: () => "two" })
  .step("three", { act: () => 3 })
  .sleep("rest", "1s");
const amends = new Amends({ database: sqlite(":memory:"), sagas: [free, declared] });
const input = { sku: "tea" };

it("[S-39] a start says when, how urgently, and by which attributes it is found", () => {
  void amends.start(free, input, {
    runAt: new Date(),
    priority: 3,
    attributes: { any: "x", n: 1, yes: true },
  });
  expectTypeOf(amends.start(free, input, { delay: "10m" })).resolves.toHaveProperty("result");
  // @ts-expect-error a delay is a duration
  void amends.start(free, input, { delay: "soon" });
  // @ts-expect-error an instant is a Date
  void amends.start(free, input, { runAt: "2030-01-01" });
  // @ts-expect-error a value is a text, a number or a boolean
  void amends.start(free, input, { attributes: { tags: ["a"] } });
});

it("[S-39] a definition that declares attributes takes no other names, after any steps", () => {
  expectTypeOf(amends.start(declared, input, { attributes: { tenant: "acme" } })).resolves.toHaveProperty(
    "id",
  );
  void amends.start(declared, input, { attributes: { tenant: "acme", region: "eu" } });
  // @ts-expect-error "tennant" does not exist: did you mean "tenant"?
  void amends.start(declared, input, { attributes: { tennant: "acme" } });
  // @ts-expect-error nor does "tier"
  void amends.start(declared, input, { attributes: { tenant: "acme", tier: 1 } });
  // @ts-expect-error the same in a list of starts
  void amends.startMany(declared, [{ input, attributes: { tier: 1 } }]);
  // @ts-expect-error and in a synchronous transaction
  amends.sync.start(declared, input, { tx: null as never, attributes: { tier: 1 } });
});

it("[S-39] a reference declares them as well, or gets them from the definition", () => {
  const own = sagaRef("declared", schema, { attributes: ["tenant"] });
  expectTypeOf(amends.start(own, input, { attributes: { tenant: "acme" } })).resolves.toHaveProperty("id");
  // @ts-expect-error the reference does not declare it
  void amends.start(own, input, { attributes: { region: "eu" } });
  const typed: ReferenceTo<typeof declared> = sagaRef("declared", schema);
  void amends.start(typed, input, { attributes: { region: "eu" } });
  // @ts-expect-error the definition does not declare it
  void amends.start(typed, input, { attributes: { tier: 1 } });
});

it("[S-42] a definition types the attributes of its list, in the filter and in the items", async () => {
  const { items, next } = await amends.list({
    saga: declared,
    attributes: { tenant: "acme" },
    status: "STALLED",
  });
  expectTypeOf(next).toEqualTypeOf<string | undefined>();
  expectTypeOf(items[0]?.attributes.tenant).toEqualTypeOf<AttributeValue | undefined>();
  // @ts-expect-error the saga has no such attribute
  void items[0]?.attributes.tier;
  // @ts-expect-error nor can it be asked for one
  void amends.list({ saga: declared, attributes: { tier: 1 } });
  // @ts-expect-error the same where sagas are counted
  void amends.count({ saga: declared, attributes: { tier: 1 } });
  // @ts-expect-error there is no such state
  void amends.list({ status: "DONE" });
  // @ts-expect-error an instant is a Date
  void amends.list({ since: "2026-01-01" });
  const any = await amends.list({
    saga: "declared",
    attributes: { anything: 1 },
    status: ["FAILED", "STALLED"],
  });
  expectTypeOf(any.items[0]?.attributes["anything"]).toEqualTypeOf<AttributeValue | undefined>();
  expectTypeOf(await amends.count({ saga: free })).toEqualTypeOf<Count>();
});

it("[S-39] many starts are typed like one", async () => {
  const runs = await amends.startMany(declared, [{ input, id: "d-1", delay: 5 }, { input }]);
  expectTypeOf(runs).toEqualTypeOf<
    readonly SagaRun<
      {
        readonly one: number;
        readonly left: number;
        readonly right: number;
        readonly nap: undefined;
        readonly large: boolean;
        readonly check: number | undefined;
        readonly two: string;
        readonly three: number;
        readonly rest: undefined;
      },
      never
    >[]
  >();
  // @ts-expect-error the schema asks for a sku
  void amends.startMany(declared, [{ input: {} }]);
  // @ts-expect-error each start has an input
  void amends.startMany(declared, [{ id: "d-1" }]);
});
