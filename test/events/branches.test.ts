/** Sagas over events that fan in and branch. */
import { flowDiagram, flowRunDiagram } from "amends/events";
import { expect, it } from "vitest";
import { onEachDatabase, virtualClock } from "../support/databases.ts";
import { runIn, sent, waitFor } from "./support/flow.ts";
import { order, Paid, Placed } from "./support/order.ts";

/** Holds a handler until it is let go. */
function gate(): { readonly hold: () => Promise<void>; open(): void } {
  let open: () => void = () => undefined;
  const held = new Promise<void>((resolve) => (open = resolve));
  return { hold: () => held, open: () => open() };
}

onEachDatabase((database) => {
  it("[F-24] steps that take one event run beside each other, and the step that waits for all of theirs gets them typed", async () => {
    const paying = gate();
    const { saga, undoers, calls } = order({ pay: () => paying.hold() });
    const db = await database.open();
    const amends = await database.amends({ database: db, events: [saga, ...undoers] });
    await database.worker(amends);
    await amends.events.publish(Placed({ orderId: "o-1" }));
    await waitFor(async () => (await amends.events.runs(saga, "o-1"))[0]?.completedSteps.includes("pack"));
    const [waiting] = await amends.events.runs(saga, "o-1");
    expect(waiting).toMatchObject({
      dueSteps: ["pay"],
      notTaken: ["refuse"],
      answers: { check: "Approved" },
    });
    paying.open();
    const run = await runIn(amends, saga, "o-1", "completed");
    expect(run).toMatchObject({
      completedSteps: ["check", "pack", "pay", "ship"],
      dueSteps: [],
      notTaken: ["refuse"],
      currentStep: 4,
    });
    expect(calls.toSorted()).toEqual(["check", "pack", "pay", "ship Paid 100 Packed 2"]);
    const rows = await sent(db);
    expect(rows.toSorted()).toEqual([
      "Approved > pack",
      "Approved > pay",
      "Done",
      "Packed > ship",
      "Paid > ship",
      "Placed > check",
      "Shipped",
    ]);
  });

  it("[F-24] the steps of the answer that was given run, those of the other branch do not, and the saga completes by it", async () => {
    const { saga, undoers, calls } = order({ check: "decline" });
    const db = await database.open();
    const amends = await database.amends({ database: db, events: [saga, ...undoers] });
    await database.worker(amends);
    await amends.events.publish(Placed({ orderId: "o-1" }));
    const run = await runIn(amends, saga, "o-1", "completed");
    expect(run).toMatchObject({
      completedSteps: ["check", "refuse"],
      answers: { check: "Declined" },
      notTaken: ["pay", "pack", "ship"],
    });
    expect(calls).toEqual(["check", "refuse no credit"]);
    expect(await sent(db)).toEqual(["Placed > check", "Declined > refuse", "Refused", "Done"]);
    expect(flowRunDiagram(run)).toContain("Note over O: not taken: pay, pack, ship\n");
  });

  it("[F-24] a step of a transaction may choose as well", async () => {
    const { transaction } = await (database.name === "postgres"
      ? import("amends/postgres")
      : import("amends/sqlite"));
    for (const [will, end] of [
      ["ok", "ship"],
      ["decline", "refuse"],
    ] as const) {
      const { saga, undoers } = order({ check: will }, { transaction });
      const amends = await database.amends({ events: [saga, ...undoers] });
      const worker = await database.worker(amends);
      await amends.events.publish(Placed({ orderId: `o-${end}` }));
      expect((await runIn(amends, saga, `o-${end}`, "completed")).completedSteps.at(-1)).toBe(end);
      await worker.stop();
    }
  });

  it("[F-24] what ran is undone in reverse, and nothing of the branch that was not taken", async () => {
    const packing = gate();
    const { saga, undoers, calls } = order({ ship: "err", pack: () => packing.hold() });
    const amends = await database.amends({ events: [saga, ...undoers] });
    await database.worker(amends);
    await amends.events.publish(Placed({ orderId: "o-1" }));
    await waitFor(async () => (await amends.events.runs(saga, "o-1"))[0]?.completedSteps.includes("pay"));
    packing.open();
    const run = await runIn(amends, saga, "o-1", "failed");
    expect(run).toMatchObject({ completedSteps: ["check", "pay", "pack"], failure: { step: "ship" } });
    expect(calls.slice(3)).toEqual(["ship Paid 100 Packed 2", "unpack", "refund"]);
  });

  it("[F-24] a step that fails beside another one waits for its end, and what that did is undone", async () => {
    const packing = gate();
    const { saga, undoers, calls } = order({ pay: "err", pack: () => packing.hold() });
    const amends = await database.amends({ events: [saga, ...undoers] });
    await database.worker(amends);
    await amends.events.publish(Placed({ orderId: "o-1" }));
    await runIn(amends, saga, "o-1", "compensating");
    expect(calls.toSorted()).toEqual(["check", "pack", "pay"]);
    packing.open();
    const run = await runIn(amends, saga, "o-1", "failed");
    expect(calls.at(-1)).toBe("unpack");
    expect(calls).not.toContain("refund");
    expect(run.failure).toEqual({ step: "pay", error: "Trouble" });
  });

  it("[F-24] a step beside a failed one that waits for its next try is in doubt: it is undone at once, and not called again", async () => {
    const packed = gate();
    const { saga, undoers, calls } = order({
      pay: () => packed.hold().then(() => "err"),
      pack: "throw",
    });
    // No time passes: the next try of `pack` never comes.
    const db = await database.open({ clock: virtualClock() });
    const amends = await database.amends({ database: db, events: [saga, ...undoers] });
    await database.worker(amends);
    await amends.events.publish(Placed({ orderId: "o-1" }));
    await waitFor(async () => (await sent(db)).includes("Approved > pack (failed)"));
    packed.open();
    await runIn(amends, saga, "o-1", "failed");
    expect(calls.toSorted()).toEqual(["check", "pack", "pay", "unpack"]);
  });

  it("[F-24] the first of two events outlives its process, and the step begins with the second in another one", async () => {
    const { saga, undoers } = order({ pay: () => new Promise(() => undefined) });
    const clock = virtualClock();
    const first = await database.amends({ events: [saga, ...undoers], clock });
    const worker = await database.worker(first);
    await first.events.publish(Placed({ orderId: "o-1" }));
    await waitFor(async () => (await first.events.runs(saga, "o-1"))[0]?.completedSteps.includes("pack"));
    void worker;
    const other = order();
    const later = virtualClock();
    const second = await database.amends({ events: [other.saga, ...other.undoers], clock: later });
    later.jump(120_000);
    await database.worker(second);
    await runIn(second, other.saga, "o-1", "completed");
    expect(other.calls).toEqual(["pay", "ship Paid 100 Packed 2"]);
  });

  it("[F-24] an event of the same name from outside, early or repeated, begins nothing", async () => {
    const packing = gate();
    const { saga, undoers, calls } = order({ pack: () => packing.hold() });
    const db = await database.open();
    const amends = await database.amends({ database: db, events: [saga, ...undoers] });
    await database.worker(amends);
    await amends.events.publish(Placed({ orderId: "o-1" }));
    await waitFor(async () => (await amends.events.runs(saga, "o-1"))[0]?.completedSteps.includes("pay"));
    await amends.events.publish([Paid({ orderId: "o-1", cents: 1 }), Paid({ orderId: "o-2", cents: 1 })]);
    await waitFor(async () => (await sent(db)).includes("Paid > ship (abandoned)"));
    await waitFor(async () => (await sent(db)).includes("Paid > ship (superseded)"));
    expect(calls).not.toContain("ship Paid 1 Packed 2");
    packing.open();
    await runIn(amends, saga, "o-1", "completed");
    expect(calls.at(-1)).toBe("ship Paid 100 Packed 2");
  });

  it("[F-24] a handler that throws gets all of its events again", async () => {
    let tries = 0;
    const { saga, undoers, calls } = order({
      ship: () => {
        if (++tries === 1) throw new Error("no van");
      },
    });
    const clock = virtualClock();
    const amends = await database.amends({ events: [saga, ...undoers], clock });
    await database.worker(amends);
    await amends.events.publish(Placed({ orderId: "o-1" }));
    await waitFor(async () => tries === 1);
    await waitFor(async () => {
      await clock.advance(1_000);
      return (await amends.events.runs(saga, "o-1"))[0]?.status === "completed";
    });
    expect(calls.filter((call) => call === "ship Paid 100 Packed 2")).toHaveLength(2);
  });

  it("[F-24][F-16] past its deadline a run waits for every handler that runs, and undoes what they did", async () => {
    const both = gate();
    const { saga, undoers, calls } = order(
      { pay: () => both.hold(), pack: () => both.hold() },
      { deadline: "1m" },
    );
    const clock = virtualClock();
    const amends = await database.amends({ events: [saga, ...undoers], clock });
    await database.worker(amends);
    await amends.events.publish(Placed({ orderId: "o-1" }));
    await waitFor(async () => calls.length === 3);
    await waitFor(async () => {
      await clock.advance(30_000);
      return (await amends.events.runs(saga, "o-1"))[0]?.status === "compensating";
    });
    expect(calls).toHaveLength(3);
    both.open();
    await runIn(amends, saga, "o-1", "failed");
    expect(calls.slice(3).toSorted()).toEqual(["refund", "unpack"]);
  });

  it("[F-24] a hundred runs at once each take their branch, and every step of it begins once", async () => {
    const { saga, undoers, calls } = order({ check: (id) => (Number(id.slice(2)) % 2 ? "decline" : "ok") });
    const amends = await database.amends({ events: [saga, ...undoers] });
    await database.worker(amends);
    const ids = Array.from({ length: 100 }, (_, index) => `o-${index}`);
    const runs = await amends.events.publish(ids.map((orderId) => Placed({ orderId })));
    expect(await Promise.all(runs.map((run) => run.ended()))).toEqual(ids.map(() => "completed"));
    expect(calls.filter((call) => call.startsWith("ship"))).toHaveLength(50);
    expect(calls).toHaveLength(100 + 50 * 3 + 50);
  });
});

it("[F-24] the diagram has an edge for each event: into the step that waits for several, and to each branch", () => {
  expect(flowDiagram(order().saga)).toBe(`flowchart LR
  e0([Placed]) --> s0[check]
  s0 -- Approved --> s1[pay]
  s0 -- Approved --> s2[pack]
  s0 -- Declined --> s4[refuse]
  s0 -. Trouble .-> failed
  s1 -- Paid --> s3[ship]
  s1 -. Trouble .-> u2
  s2 -- Packed --> s3[ship]
  s2 -. Trouble .-> u1
  s3 -- Shipped --> completed
  s3 -. Trouble .-> u2
  s4 -- Refused --> completed
  s4 -. Trouble .-> failed
  u1[/undo pay/] -. Refund .-> failed
  u2[/undo pack/] -. Unpack .-> u1
  completed((completed))
  failed((failed))
`);
});
