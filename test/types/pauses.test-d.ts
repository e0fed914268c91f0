import { Amends, saga, sagaRef } from "amends";
import { defineCall } from "amends/calls";
import type { Paused, PausedList, PauseTarget, SagaPause } from "amends/sagas";
import { sqlite } from "amends/sqlite";
import { expectTypeOf, it } from "vitest";
import { z } from "zod";

const schema = z.object({ sku: z.string() });
const order = saga("order", schema).step("one", { act: () => 1 });
const mail = defineCall("mail", { schema, handle: () => undefined });
const amends = new Amends({ database: sqlite(":memory:"), sagas: [order], calls: [mail] });
const why = { reason: "the bank is down" };

it("[S-44] a pause takes one saga, sagas of a definition, a reference or a name, or calls of a name", () => {
  expectTypeOf(amends.pause({ id: "o-1" }, why)).resolves.toEqualTypeOf<Paused>();
  expectTypeOf(amends.resume({ saga: order }, why)).resolves.toEqualTypeOf<boolean>();
  void amends.pause({ saga: sagaRef("order", schema) }, { ...why, by: "ann" });
  void amends.pause({ saga: "order" }, why);
  void amends.pause({ call: mail }, why);
  void amends.resume({ call: "mail" }, why);
  expectTypeOf(amends.paused({ limit: 5 })).resolves.toEqualTypeOf<PausedList>();
  expectTypeOf<{ id: string }>().toExtend<PauseTarget>();
  // @ts-expect-error a target is needed
  void amends.pause({}, why);
  // @ts-expect-error a reason is needed
  void amends.pause({ id: "o-1" }, {});
  // @ts-expect-error a call is no saga
  void amends.pause({ saga: mail }, why);
});

it("[S-44] a view says who holds a saga", async () => {
  const view = await amends.inspect("o-1");
  expectTypeOf(view?.paused).toEqualTypeOf<SagaPause | undefined>();
});
