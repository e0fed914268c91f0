/** How sagas that wait are seen: what they wait for, and until when. */
import { saga, signal, type SagaView, type StepNews } from "amends";
import { event } from "amends/events";
import { runDiagram, sagaDiagram } from "amends/sagas";
import { virtualClock } from "amends/testing";
import { expect, it } from "vitest";
import { z } from "zod";
import { onEachDatabase } from "../support/databases.ts";
import { checkInvariantsAfterEach } from "./support/check-invariants.ts";

const orderSchema = z.object({ orderId: z.string() });
const approved = signal("approved", z.object({ by: z.string() }));
const Paid = event("Paid", z.object({ orderId: z.string() }));

const order = saga("order", orderSchema)
  .step("reserve", { act: () => 1, compensate: () => undefined })
  .sleep("cool-off", "2h")
  .waitFor("approval", { signal: approved, timeout: "3d" })
  .pivot("charge", { act: () => 2 })
  .waitFor("payment", { event: Paid, where: "orderId", equals: ({ input }) => input.orderId })
  .step("ship", { act: () => 3 });

const HOUR_MS = 3_600_000;

onEachDatabase((database) => {
  checkInvariantsAfterEach(database);

  it("[S-25][S-31] the view of a saga that waits says for what, since when and until when", async () => {
    const clock = virtualClock();
    const amends = await database.amends({ sagas: [order], clock });
    const { id } = await amends.start(order, { orderId: "o-1" });
    const view = async (): Promise<SagaView> => (await amends.inspect(id)) as SagaView;
    expect((await view()).waiting).toBeUndefined();
    await amends.worker().runOnce();
    const since = new Date(clock.virtualNowMs());
    const until = new Date(clock.virtualNowMs() + 2 * HOUR_MS);
    expect(await view()).toMatchObject({
      status: "RUNNING",
      dueAt: until,
      waiting: { step: "cool-off", kind: "sleep", for: undefined, since, until },
      actions: ["cancel"],
    });
    clock.jump(2 * HOUR_MS);
    await amends.worker().runOnce();
    const later = new Date(clock.virtualNowMs() + 72 * HOUR_MS);
    expect((await view()).waiting).toMatchObject({
      step: "approval",
      kind: "signal",
      for: "approved",
      until: later,
    });
    await amends.signal(id, approved, { by: "ann" });
    await amends.worker().runOnce();
    expect((await view()).waiting).toMatchObject({
      step: "payment",
      kind: "event",
      for: "Paid",
      until: undefined,
    });
    const begun = (await view()).timeline.filter(({ waitsFor }) => waitsFor !== undefined);
    expect(begun.map(({ name, note, until: end }) => ({ name, note, end }))).toEqual([
      { name: "cool-off", note: `waits for time to pass, until ${until.toISOString()}`, end: until },
      { name: "approval", note: `waits for signal approved, until ${later.toISOString()}`, end: later },
      { name: "payment", note: "waits for event Paid", end: undefined },
    ]);
    // Waiting is nothing that a person is needed for.
    expect((await amends.attention.list()).items).toEqual([]);
  });

  it("[S-25][S-08] whoever follows a saga hears when it begins to wait, and what it was told", async () => {
    const waiting = saga("waiting", orderSchema)
      .sleep("moment", "1ms")
      .waitFor("approval", { signal: approved, timeout: "3d" });
    const amends = await database.amends({ sagas: [waiting] });
    await database.worker(amends);
    const run = await amends.start(waiting, { orderId: "o-1" });
    const heard: StepNews[] = [];
    for await (const news of run.stream()) {
      heard.push(news);
      if (news.name === "approval" && news.status === "WAITING")
        await amends.signal(run.id, approved, { by: "ann" });
    }
    expect(heard).toEqual([
      { name: "moment", action: "act", status: "WAITING", waitsFor: { kind: "sleep", limitMs: 1 } },
      { name: "moment", action: "act", status: "COMPLETED" },
      {
        name: "approval",
        action: "act",
        status: "WAITING",
        waitsFor: { kind: "signal", target: "approved", limitMs: 72 * HOUR_MS },
      },
      { name: "approval", action: "act", status: "COMPLETED", result: { by: "ann" } },
    ]);
  });

  it("[S-25][S-31] a run that waited can be drawn, and one that still waits", async () => {
    const clock = virtualClock();
    const amends = await database.amends({ sagas: [order], clock });
    const { id } = await amends.start(order, { orderId: "o-1" });
    await amends.worker().runOnce();
    clock.jump(2 * HOUR_MS);
    await amends.worker().runOnce();
    const view = (await amends.inspect(id)) as SagaView;
    const timeline = view.timeline.filter(({ kind }) => kind === "step");
    expect(runDiagram({ ...view, timeline })).toBe(`sequenceDiagram
  participant S as order
  participant P0 as reserve
  participant P3 as charge
  participant P5 as ship
  S->>P0: act reserve
  P0-->>S: act done
  Note over S: cool-off, waits for time to pass
  Note over S: cool-off, over
  Note over S: approval, waits for signal approved
  Note over S: RUNNING
`);
    expect(runDiagram({ ...view, timeline }, "state")).toBe(`stateDiagram-v2
  s0: act reserve done
  [*] --> s0
  s1: cool-off, over
  s0 --> s1
  s2: approval, waits for signal approved
  s1 --> s2
  s2 --> RUNNING
`);
    clock.jump(72 * HOUR_MS);
    await amends.worker().runOnce();
    const failed = (await amends.inspect(id)) as SagaView;
    expect(runDiagram(failed)).toContain("Note over S: approval failed, DeadlinePassed\n");
  });

  it("[S-25][S-30] a worker whose definition no longer waits where a saga waits leaves it alone, and attention has the difference in words", async () => {
    const clock = virtualClock();
    const first = await database.amends({ sagas: [order], clock });
    const { id } = await first.start(order, { orderId: "o-1" });
    await first.worker().runOnce();
    const changed = saga("order", orderSchema)
      .step("reserve", { act: () => 1, compensate: () => undefined })
      .step("cool-off", { act: () => 1 })
      .waitFor("approval", { signal: signal("confirmed", z.string()), timeout: "3d" })
      .pivot("charge", { act: () => 2 })
      .waitFor("payment", { event: Paid, where: "orderId", equals: ({ input }) => input.orderId })
      .step("ship", { act: () => 3 });
    const second = await database.amends({ sagas: [changed], clock });
    clock.jump(2 * HOUR_MS);
    await second.worker().runOnce();
    expect(await second.inspect(id)).toMatchObject({ status: "RUNNING" });
    expect((await second.attention.list({ kind: "unserved-kind" })).items[0]?.reason).toContain(
      ": step cool-off no longer waits; step approval waits for signal confirmed, not for signal approved.",
    );
  });

  it("[S-25][S-30] a saga keeps the time limits that it began with", async () => {
    const clock = virtualClock();
    const short = saga("nap", orderSchema).sleep("nap", "2h");
    const first = await database.amends({ sagas: [short], clock });
    const { id } = await first.start(short, { orderId: "o-1" });
    await first.worker().runOnce();
    const long = saga("nap", orderSchema).sleep("nap", "9h");
    const second = await database.amends({ sagas: [long], clock });
    clock.jump(2 * HOUR_MS);
    expect(await second.worker().runOnce()).toBe(1);
    expect((await second.inspect(id))?.status).toBe("COMPLETED");
  });
});

it("[S-25][S-31] the diagrams of a definition show what it waits for and how long", () => {
  expect(sagaDiagram(order)).toBe(`sequenceDiagram
  participant S as order
  participant P0 as reserve
  participant P3 as charge
  participant P5 as ship
  S->>P0: act reserve
  Note over S: cool-off, sleeps 2h
  Note over S: approval, waits for signal approved, at most 3d
  S->>P3: act charge
  Note over S,P3: pivot, from here only forward
  Note over S: payment, waits for event Paid
  S->>P5: act ship
  alt a step fails before the pivot
    S->>P0: undo reserve
  end
`);
  expect(sagaDiagram(order, "state")).toBe(`stateDiagram-v2
  [*] --> act_0
  act_0: reserve
  act_0 --> act_1
  act_0 --> undo_0: fails
  act_1: cool-off, sleeps 2h
  act_1 --> act_2
  act_2: approval, waits for signal approved, at most 3d
  act_2 --> act_3
  act_2 --> undo_0: time is over
  act_3: charge (pivot)
  act_3 --> act_4
  act_3 --> undo_0: fails
  act_4: payment, waits for event Paid
  act_4 --> act_5
  act_5: ship
  act_5 --> COMPLETED
  act_5 --> STALLED: fails
  undo_0: undo reserve
  undo_0 --> FAILED
  undo_0 --> STALLED: tries used up
  COMPLETED --> [*]
  FAILED --> [*]
`);
});
