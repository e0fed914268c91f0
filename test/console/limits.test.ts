/** What is seen of a saga that waits for its limit by key: which limit it is, and how much of it is taken, but not the key. */
import { saga } from "amends";
import { virtualClock } from "amends/testing";
import { expect, it } from "vitest";
import { z } from "zod";
import type { SagaDetail } from "../../src/console/contract.ts";
import { gate } from "../sagas/support/gate.ts";
import { cli, json } from "../cli/support/cli.ts";
import { onEachDatabase } from "../support/databases.ts";
import { visit } from "./support/visit.ts";

const schema = z.object({ customer: z.string() });
const key = ({ customer }: { customer: string }): string => customer;
const MINUTE_MS = 60_000;

onEachDatabase((database) => {
  it("[S-40] a saga that waits for its limit says so, in its view, the console and the command line", async () => {
    const clock = virtualClock();
    const held = gate();
    const order = saga("order", schema, {
      concurrency: { key, limit: 1 },
      rate: { key: () => "all", limit: 2, per: "1m" },
    }).step("only", { act: ({ input }) => (input.customer === "anna@x" ? held.pass() : undefined) });
    const amends = await database.amends({ sagas: [order], clock });
    const worker = amends.worker();
    const inspect = async (id: string) => (await amends.inspect(id))?.heldBy;
    for (const id of ["a-1", "a-2"]) await amends.start(order, { customer: "anna@x" }, { id });
    // Nobody claims: there is a place, and no worker.
    expect(await inspect("a-1")).toEqual([]);
    const running = worker.runOnce();
    await held.reached;
    expect(await inspect("a-1")).toEqual([]);
    const concurrency = { kind: "concurrency", key: "anna@x", limit: 1, used: 1, until: undefined };
    expect(await inspect("a-2")).toEqual([concurrency]);
    const { get } = visit(amends);
    const detail = await get<SagaDetail>("reader", "/api/sagas/a-2");
    expect(detail.heldBy).toEqual([{ kind: "concurrency", limit: 1, used: 1, until: null }]);
    expect(JSON.stringify(detail)).not.toContain("anna");

    const freeAtMs = clock.virtualNowMs() + MINUTE_MS;
    held.open();
    await running;
    await worker.runOnce();
    for (const id of ["a-3", "later"])
      await amends.start(order, { customer: "bob" }, { id, ...(id === "later" && { delay: "1h" }) });
    await worker.runOnce();
    const rate = { kind: "rate", key: "all", limit: 2, used: 2, until: new Date(freeAtMs) };
    expect(await inspect("a-3")).toEqual([rate]);
    expect(await inspect("later")).toEqual([]);
    expect(await inspect("a-1")).toEqual([]);
    clock.jump(MINUTE_MS);
    expect(await inspect("a-3")).toEqual([]);
  });

  it("[S-40][P-03] `amends show` says that a saga waits for its limit", async () => {
    const held = gate();
    const order = saga("order", schema, { concurrency: { key, limit: 1 } }).step("only", {
      act: () => held.pass(),
    });
    const amends = await database.amends({ sagas: [order] });
    for (const id of ["a-1", "a-2"]) await amends.start(order, { customer: "anna@x" }, { id });
    const running = amends.worker().runOnce();
    await held.reached;
    const at = ["--database", await database.place()];
    const states = await Promise.all(["a-1", "a-2"].map((id) => amends.inspect(id)));
    const waits = states.find((view) => view?.status === "PENDING")?.id as string;
    const { out } = await cli(["show", waits, ...at]);
    expect(out).toMatch(/waits for +its limit: concurrency, 1 of 1 run/);
    expect(out).not.toContain("anna");
    expect(await json<SagaDetail>(["show", waits, ...at])).toMatchObject({
      heldBy: [{ kind: "concurrency", limit: 1, used: 1, until: null }],
    });
    held.open();
    await running;
  });
});
