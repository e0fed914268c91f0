import { Amends, saga } from "amends";
import type { BulkPreview, BulkState, BulkView } from "amends/bulk";
import { sqlite } from "amends/sqlite";
import { expectTypeOf, it } from "vitest";
import { z } from "zod";

const order = saga("order", z.object({}), { attributes: ["tenant"] }).step("one", { act: () => 1 });
const { bulk } = new Amends({ database: sqlite(":memory:"), sagas: [order] });
const note = { reason: "a test" };

it("[S-43] each action takes its own items and options, and attributes are those of the definition", () => {
  expectTypeOf(bulk.preview({ action: "retry", saga: order })).resolves.toEqualTypeOf<BulkPreview>();
  expectTypeOf(bulk.start({ action: "retry", ids: ["a"], ...note })).resolves.toEqualTypeOf<BulkView>();
  expectTypeOf<BulkView["status"]>().toEqualTypeOf<BulkState>();
  void bulk.start({ action: "cancel", saga: order, attributes: { tenant: "acme" }, ...note, id: "b-1" });
  // @ts-expect-error the definition has no such attribute
  void bulk.start({ action: "cancel", saga: order, attributes: { region: "eu" }, ...note });
  void bulk.start({ action: "skip", status: "STALLED", step: "one", result: 1, ...note });
  // @ts-expect-error a skip names its step
  void bulk.start({ action: "skip", status: "STALLED", ...note });
  // @ts-expect-error a resolve says how the sagas end
  void bulk.start({ action: "resolve", status: "STALLED", ...note });
  // @ts-expect-error only a resolve does
  void bulk.start({ action: "retry", status: "STALLED", as: "FAILED", ...note });
  void bulk.start({ action: "requeue", kind: "erasure", error: "no_access", ...note });
  // @ts-expect-error entries have no attributes
  void bulk.start({ action: "requeue", attributes: { tenant: "acme" }, ...note });
  void bulk.start({ action: "resend", subscription: "3", since: new Date(), ...note });
  // @ts-expect-error only dead deliveries are resent
  void bulk.start({ action: "resend", status: "Completed", ...note });
  // @ts-expect-error such an action there is not
  void bulk.start({ action: "reverse", status: "COMPLETED", ...note });
  // @ts-expect-error every action needs a reason
  void bulk.start({ action: "retry", status: "STALLED" });
  // @ts-expect-error so does a stop
  void bulk.stop("b-1", {});
  // @ts-expect-error a preview has none
  void bulk.preview({ action: "retry", status: "STALLED", reason: "a test" });
});
