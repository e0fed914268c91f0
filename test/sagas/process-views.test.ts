/** What people see of a saga with a list and a child: nothing that ended well looks as if it had been lost. */
import { saga } from "amends";
import { expect, it } from "vitest";
import { z } from "zod";
import { timeline } from "../../src/cli/terminal/timeline.ts";
import { detailOf } from "../../src/console/sagas/detail.ts";
import { onEachDatabase } from "../support/databases.ts";

const nothing = z.object({});

onEachDatabase((database) => {
  it("[S-33][S-26][P-03][P-04] a list and a child that ended are shown as done, without a recovery and a call that did not end", async () => {
    const child = saga("child", nothing).step("one", { act: () => 1, compensate: () => undefined });
    const parent = saga("parent", nothing)
      .each("items", {
        over: () => ["a", "b"],
        key: (item) => item,
        act: () => 1,
        compensate: () => undefined,
      })
      .repeat("rounds", { act: () => 1, until: () => true, max: 2, every: "1s" })
      .when(
        "large",
        () => false,
        (branch) => branch.step("ask", { act: () => 1 }),
      )
      .saga("ship", child, { input: () => ({}) })
      .step("last", { act: () => 1 });
    const amends = await database.amends({ sagas: [parent, child] });
    const settle = async (): Promise<void> => {
      while ((await amends.worker().runOnce()) > 0);
    };
    const view = async (id: string) => {
      const found = await amends.inspect(id);
      if (!found) throw new Error(`There is no saga ${id}.`);
      return found;
    };
    const drawn = (detail: ReturnType<typeof detailOf>): string =>
      timeline(
        detail.timeline,
        { nowMs: Date.now(), isAtRest: true, waitingStep: undefined, isLeased: false },
        undefined,
      )
        .map((line) => line.render(false))
        .join("\n");
    await amends.start(parent, {}, { id: "o" });
    await settle();
    const done = detailOf(await view("o"));
    expect([done.status, done.recoveries]).toEqual(["COMPLETED", 0]);
    expect(done.steps.map(({ name, state }) => `${name} ${state}`)).toEqual([
      "items done",
      "rounds done",
      "large done",
      "ask none",
      "ship done",
      "last done",
    ]);
    expect(drawn(done)).not.toMatch(/did not end|#2/);
    expect(done.timeline).toContainEqual(expect.objectContaining({ name: "items", note: "2 items" }));
    expect(done.timeline).toContainEqual(
      expect.objectContaining({ name: "ship", note: "waits for saga child" }),
    );
    expect(done.mermaid.sequence).not.toMatch(/waits for $/m);
    expect(done.mermaid.sequence).toContain("act items[1]");
    await amends.reverse("o", { reason: "sent back" });
    await settle();
    const reversed = detailOf(await view("o:reversal"));
    expect([reversed.status, reversed.recoveries]).toEqual(["COMPLETED", 0]);
    expect(drawn(reversed)).not.toMatch(/did not end|#2/);
    expect(reversed.steps).toContainEqual({ name: "items", state: "undone" });
    expect(reversed.steps).toContainEqual({ name: "ship", state: "undone" });
  });
});
