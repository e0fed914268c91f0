import { err, saga } from "amends";
import type { Attributes } from "amends/sagas";
import { expect, it } from "vitest";
import { z } from "zod";
import type { SagaDetail, SagaPage } from "../../src/console/contract.ts";
import { onEachDatabase, virtualClock } from "../support/databases.ts";
import { openShop } from "./support/shop.ts";
import { visit } from "./support/visit.ts";

onEachDatabase((database) => {
  it("[P-04] sagas are found by state, name, id, time and fields of the input, however they are spelt", async () => {
    const shop = await openShop(database);
    await shop.run("COMPLETED", "o-1", "ada@example.com");
    await shop.run("FAILED", "o-2", "bob@example.com");
    await shop.run("STALLED", "o-3");
    const { get } = visit(shop.amends);
    const ids = async (query: string, person: "reader" | "revealer" = "reader"): Promise<string[]> =>
      (await get<SagaPage>(person, `/api/sagas?${query}`)).items.map(({ id }) => id);
    expect(await ids("")).toEqual(["o-3", "o-2", "o-1"]);
    expect(await ids("status=COMPLETED,STALLED")).toEqual(["o-3", "o-1"]);
    expect(await ids("name=place-order")).toEqual(["o-3", "o-2", "o-1"]);
    expect(await ids("name=other")).toEqual([]);
    expect(await ids("q=PLACE%20order&status=FAILED")).toEqual(["o-2"]);
    expect(await ids("q=stalled")).toEqual(["o-3"]);
    expect(await ids("q=fail%20placeorder")).toEqual(["o-2"]);
    expect(await ids("q=o-")).toEqual(["o-3", "o-2", "o-1"]);
    expect(await ids("q=o-2")).toEqual(["o-2"]);
    expect(await ids("q=orderId:o-1")).toEqual(["o-1"]);
    expect(await ids("q=customer.email%3Dbob@example.com")).toEqual(["o-2"]);
    expect(await ids("q=bob@example.com")).toEqual(["o-2"]);
    expect(await ids("q=nothing-like-it")).toEqual([]);
    expect(await ids("error=RangeError")).toEqual(["o-3"]);
    expect(await ids("error=nothing")).toEqual([]);
    expect(await ids("to=2020-01-01")).toEqual([]);
    expect(await ids("from=2020-01-01&to=2120-01-01T00:00:00Z")).toEqual(["o-3", "o-2", "o-1"]);
  });

  it("[S-39] a list and a page show when a saga runs, its priority and its attributes", async () => {
    const clock = virtualClock();
    const order = saga("order", z.object({})).step("one", { act: () => 1 });
    const amends = await database.amends({ sagas: [order], clock });
    const attributes = { tenant: "acme", tier: 2 };
    await amends.start(order, {}, { id: "later", delay: "2h", priority: 5, attributes });
    const { get } = visit(amends);
    const runAt = new Date(clock.virtualNowMs() + 7_200_000).toISOString();
    const line = { status: "PENDING", runAt, isScheduled: true, attributes };
    expect((await get<SagaPage>("reader", "/api/sagas")).items).toMatchObject([line]);
    const detail = await get<SagaDetail>("reader", "/api/sagas/later");
    expect(detail).toMatchObject({ ...line, priority: 5, dueAt: runAt });
    clock.jump(7_200_000);
    await amends.worker().runOnce();
    const done = { status: "COMPLETED", runAt, isScheduled: false, durationMs: 0 };
    expect((await get<SagaPage>("reader", "/api/sagas")).items).toMatchObject([done]);
    expect(await get<SagaDetail>("reader", "/api/sagas/later")).toMatchObject(done);
    // The two hours before its time are no part of what it took.
    expect(await get("reader", "/api/overview?window=1h")).toMatchObject({
      sagas: { latency: { p50Ms: 0, sample: 1 } },
    });
  });

  it("[S-42] sagas are found by their attributes and their error, with every other filter, and a bad filter is named", async () => {
    const order = saga("order", z.object({ fail: z.boolean() }), { retry: { attempts: 1 } }).step("one", {
      act: ({ input }) => {
        if (input.fail) throw new TypeError("no");
      },
    });
    const amends = await database.amends({ sagas: [order] });
    const start = async (id: string, fail: boolean, attributes: Attributes): Promise<void> => {
      await amends.start(order, { fail }, { id, attributes });
      await amends.worker().runOnce();
    };
    await start("o-1", false, { tenant: "acme corp", tier: 2 });
    await start("o-2", true, { tenant: "acme corp", tier: "2" });
    await start("o-3", true, { tenant: "globex" });
    const { get, as } = visit(amends);
    const ids = async (query: Readonly<Record<string, string>>): Promise<string[]> => {
      const page = await get<SagaPage>("reader", `/api/sagas?${new URLSearchParams(query).toString()}`);
      return page.items.map(({ id }) => id);
    };
    expect(await ids({ attributes: "tenant=acme corp" })).toEqual(["o-2", "o-1"]);
    expect(await ids({ attributes: "tenant=acme corp,tier=2" })).toEqual(["o-1"]);
    expect(await ids({ attributes: 'tier="2"' })).toEqual(["o-2"]);
    expect(await ids({ attributes: "tenant=acme corp", status: "FAILED", name: "order" })).toEqual(["o-2"]);
    expect(await ids({ error: "TypeError" })).toEqual(["o-3", "o-2"]);
    expect(await ids({ error: "TypeError", attributes: "tenant=globex" })).toEqual(["o-3"]);
    expect(await ids({ q: "o-", attributes: "tenant=globex" })).toEqual(["o-3"]);
    expect(await ids({ q: "fail:true", attributes: "tenant=globex" })).toEqual(["o-3"]);
    for (const bad of ["tenant", "9=1", "a=1,a=2"])
      expect(await (await as("reader", `/api/sagas?attributes=${bad}`)).json()).toMatchObject({
        code: "BAD_INPUT",
        field: "attributes",
      });
  });

  it("[X-01] who may not reveal values must know the whole value to find it", async () => {
    const shop = await openShop(database);
    await shop.run("COMPLETED", "o-1", "ada@example.com");
    const { get } = visit(shop.amends);
    const found = async (person: "reader" | "revealer", q: string): Promise<number> =>
      (await get<SagaPage>(person, `/api/sagas?q=${encodeURIComponent(q)}`)).items.length;
    expect(await found("reader", "email:ada")).toBe(0);
    expect(await found("reader", "email:ada@example.com")).toBe(1);
    expect(await found("revealer", "email:ADA")).toBe(1);
  });

  it("[P-04] pages follow one another without a gap or a repetition, at equal instants too", async () => {
    const shop = await openShop(database);
    await Promise.all(
      Array.from({ length: 23 }, (_, n) =>
        shop.amends.start(
          shop.order,
          { orderId: `${n}`, end: "COMPLETED" },
          { id: `o-${String(n).padStart(2, "0")}` },
        ),
      ),
    );
    const { get } = visit(shop.amends);
    const walk = async (query: string): Promise<string[]> => {
      const seen: string[] = [];
      for (let after: string | null = ""; after !== null;) {
        const page: SagaPage = await get("reader", `/api/sagas?${query}&limit=5&after=${after}`);
        expect(page.items.length).toBeGreaterThan(0);
        seen.push(...page.items.map(({ id }) => id));
        after = page.next;
      }
      return seen;
    };
    for (const query of ["", "q=o-", "name=place-order", "q=end:COMPLETED"]) {
      const seen = await walk(query);
      expect([query, seen.length, new Set(seen).size]).toEqual([query, 23, 23]);
    }
  });

  it("[P-04] a saga is shown with its timeline, its picture with the way back, and masked values", async () => {
    const shop = await openShop(database);
    await shop.run("STALLED", "o-1", "ada@example.com");
    const { get, ask, as } = visit(shop.amends);
    const detail = await get<SagaDetail>("reader", "/api/sagas/o-1");
    expect(detail).toMatchObject({
      id: "o-1",
      saga: "place-order",
      status: "STALLED",
      steps: [{ name: "reserve" }, { name: "charge" }, { name: "ship" }],
      actions: ["retry", "skip", "resolve"],
      skippable: ["charge"],
      stalled: "the undo of step charge failed (RangeError)",
      input: { masked: true, shape: { orderId: "text", end: "text", customer: { email: "text" } } },
      results: { charge: { masked: true, shape: { receipt: "text" } } },
      error: { kind: "err", value: { masked: true, shape: "text" } },
    });
    expect(JSON.stringify(detail)).not.toContain("ada@example.com");
    expect(detail.timeline.map(({ name, action, status }) => `${action} ${name} ${status}`)).toContain(
      "compensate charge FAILED",
    );
    expect(detail.graph.nodes.map(({ id, state }) => `${id} ${state}`)).toEqual([
      "start done",
      "act:reserve done",
      "act:charge done",
      "act:ship failed",
      "undo:reserve done",
      "undo:charge failed",
      "completed none",
      "failed none",
    ]);
    expect(detail.graph.edges.filter(({ taken }) => taken).map(({ from, to }) => `${from} > ${to}`)).toEqual([
      "start > act:reserve",
      "act:reserve > act:charge",
      "act:charge > act:ship",
      "act:ship > undo:charge",
      "undo:charge > undo:reserve",
    ]);
    expect(detail.mermaid.sequence).toContain("sequenceDiagram");
    expect((await as("reader", "/api/sagas/none")).status).toBe(404);
    expect((await ask("/api/sagas/o-1")).status).toBe(401);
  });

  it("[S-20][P-04] the picture of a run shows which branch it took, and what it made of the other", async () => {
    const order = saga("order", z.object({ isDown: z.boolean(), isFull: z.boolean() }), {
      retry: { attempts: 1 },
    })
      .step("reserve", { act: () => undefined, compensate: () => undefined })
      .step("charge", {
        act: ({ input }) => {
          if (input.isDown) throw new Error("down");
        },
        compensate: () => undefined,
        fallback: { name: "invoice", act: () => undefined, compensate: () => undefined },
      })
      .step("ship", { act: ({ input }) => (input.isFull ? err("full") : undefined) });
    const amends = await database.amends({ sagas: [order] });
    const { get } = visit(amends);
    const look = async (isDown: boolean, isFull: boolean = false): Promise<SagaDetail> => {
      const { id } = await amends.start(order, { isDown, isFull });
      await amends.worker().runOnce();
      return get<SagaDetail>("reader", `/api/sagas/${id}`);
    };
    const drawn = ({ graph }: SagaDetail): { states: string[]; ways: string[] } => ({
      states: graph.nodes.filter(({ step }) => step !== null).map(({ id, state }) => `${id} ${state}`),
      ways: graph.edges.filter(({ taken }) => taken).map(({ from, to }) => `${from} > ${to}`),
    });
    const straight = await look(false);
    expect(drawn(straight).states).toContain("act:invoice none");
    expect(drawn(straight).ways).toEqual([
      "start > act:reserve",
      "act:reserve > act:charge",
      "act:charge > act:ship",
      "act:ship > completed",
    ]);
    const passed = await look(true);
    expect(drawn(passed).states).toEqual([
      "act:reserve done",
      "act:charge failed",
      "act:invoice done",
      "act:ship done",
      "undo:reserve none",
      "undo:charge done",
      "undo:invoice none",
    ]);
    expect(drawn(passed).ways).toEqual([
      "start > act:reserve",
      "act:reserve > act:charge",
      "act:charge > act:invoice",
      "act:invoice > act:ship",
      "act:ship > completed",
      "act:charge > undo:charge",
    ]);
    expect(drawn(await look(true, true)).ways.slice(4)).toEqual([
      "act:charge > undo:charge",
      "act:ship > undo:invoice",
      "undo:invoice > undo:reserve",
      "undo:reserve > failed",
    ]);
    expect(drawn(await look(false, true)).ways.slice(3)).toEqual([
      "act:ship > undo:charge",
      "undo:charge > undo:reserve",
      "undo:reserve > failed",
    ]);
    expect(passed.timeline.find(({ status }) => status === "FAILED")?.note).toBe("Error, invoice instead");
  });
});
