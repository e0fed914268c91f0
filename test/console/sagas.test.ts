import { err, saga } from "amends";
import { expect, it } from "vitest";
import { z } from "zod";
import type { SagaDetail, SagaPage } from "../../src/console/contract.ts";
import { onEachDatabase } from "../support/databases.ts";
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
    expect(await ids("to=2020-01-01")).toEqual([]);
    expect(await ids("from=2020-01-01&to=2120-01-01T00:00:00Z")).toEqual(["o-3", "o-2", "o-1"]);
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
