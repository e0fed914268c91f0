import { expect, it } from "vitest";
import type { ActionLine, AttentionLine, Overview, Page, Revealed } from "../../src/console/contract.ts";
import type { FlowDetail, FlowLine, OutboxLine } from "../../src/console/contract-parts.ts";
import { waitFor } from "../events/support/flow.ts";
import { order, Placed } from "../events/support/order.ts";
import { onEachDatabase } from "../support/databases.ts";
import { openFlows } from "./support/flows.ts";
import { visit } from "./support/visit.ts";

const SECRET = "ada@example.com";

onEachDatabase((database) => {
  it("[P-04] runs of event flows are listed by their last change, by state, type and process, and page without a gap", async () => {
    const scene = await openFlows(database);
    const ids = [
      await scene.run("completed", "c-1"),
      await scene.run("failed", "f-1"),
      await scene.run("completed", "c-2"),
      await scene.run("stalled", "stalled-1"),
      await scene.run("completed", "c-3"),
    ].toReversed();
    const { get } = visit(scene.amends);
    const list = async (query: string): Promise<Page<FlowLine>> =>
      get<Page<FlowLine>>("reader", `/api/flows?${query}`);
    const idsOf = async (query: string): Promise<string[]> => (await list(query)).items.map(({ id }) => id);
    expect(await idsOf("")).toEqual(ids);
    expect(await idsOf("type=convention_init")).toEqual(ids);
    expect(await idsOf("type=another")).toEqual([]);
    expect(await idsOf("q=Convention-Init")).toEqual(ids);
    expect(await idsOf("q=c-")).toEqual([ids[0], ids[2], ids[4]]);
    expect(await idsOf("q=nothing-like-it")).toEqual([]);
    expect(await idsOf(`q=${ids[3]}`)).toEqual([ids[3]]);
    expect(await idsOf("status=failed")).toEqual([ids[3]]);
    expect(await idsOf("status=stalled,failed")).toEqual([ids[1], ids[3]]);
    expect((await list("status=stalled")).items).toMatchObject([
      {
        type: "convention_init",
        processId: "stalled-1",
        run: 1,
        status: "stalled",
        currentStep: "create_schema",
        completedSteps: ["create_schema"],
        errorLabel: "TablesFailed",
      },
    ]);
    for (const query of ["limit=2", "limit=2&type=convention_init", "limit=2&q=convention"]) {
      const seen: string[] = [];
      for (let after: string | null = ""; after !== null;) {
        const page: Page<FlowLine> = await list(`${query}&after=${after}`);
        seen.push(...page.items.map(({ id }) => id));
        after = page.next;
      }
      expect([query, seen]).toEqual([query, ids]);
    }
  });

  it("[F-24][P-04] a run that branches shows what runs beside each other, what was not taken, and the edges that it took", async () => {
    let pay: () => void = () => undefined;
    const paying = new Promise<void>((resolve) => (pay = resolve));
    const { saga, undoers } = order({ pay: () => paying, check: (id) => (id === "no" ? "decline" : "ok") });
    const amends = await database.amends({ events: [saga, ...undoers] });
    await database.worker(amends);
    const [yes, no] = await amends.events.publish([Placed({ orderId: "yes" }), Placed({ orderId: "no" })]);
    await no?.ended();
    const { get } = visit(amends);
    const show = (id = ""): Promise<FlowDetail> => get<FlowDetail>("reader", `/api/flows/${id}`);
    const taken = ({ graph }: FlowDetail): string[] =>
      graph.edges.flatMap(({ from, to, kind, taken: isTaken }) =>
        kind === "forward" && isTaken ? [`${from} → ${to}`] : [],
      );
    const states = ({ graph }: FlowDetail): Record<string, string> =>
      Object.fromEntries(
        graph.nodes.flatMap(({ step, kind, state }) =>
          kind === "act" ? [[step ?? "", state] as const] : [],
        ),
      );
    const declined = await show(no?.id);
    expect(states(declined)).toEqual({
      check: "done",
      pay: "skipped",
      pack: "skipped",
      ship: "skipped",
      refuse: "done",
    });
    expect(taken(declined)).toEqual([
      "start → act:check",
      "act:check → act:refuse",
      "act:refuse → completed",
    ]);
    await waitFor(async () => (await show(yes?.id)).completedSteps.includes("pack"));
    const waiting = await show(yes?.id);
    expect([waiting.currentStep, states(waiting)]).toEqual([
      "pay",
      { check: "done", pay: "running", pack: "done", ship: "none", refuse: "skipped" },
    ]);
    pay();
    await yes?.ended();
    expect(taken(await show(yes?.id))).toEqual([
      "start → act:check",
      "act:check → act:pay",
      "act:check → act:pack",
      "act:pay → act:ship",
      "act:pack → act:ship",
      "act:ship → completed",
    ]);
  });

  it("[P-04] a run shows its events in their order and its picture, with the way back that it took", async () => {
    const scene = await openFlows(database);
    const { get, as } = visit(scene.amends);
    const states = ({ graph }: FlowDetail): Record<string, string> =>
      Object.fromEntries(graph.nodes.map(({ id, state }) => [id, state]));
    const completed = await get<FlowDetail>("reader", `/api/flows/${await scene.run("completed")}`);
    expect(completed).toMatchObject({ status: "completed", currentStep: null, error: null, actions: [] });
    expect(completed.events.map(({ name, handler, status }) => [name, handler, status])).toEqual([
      ["Registered", "MakeSchema", "succeeded"],
      ["SchemaMade", "MakeTables", "succeeded"],
      ["TablesMade", null, "pending"],
      ["Ready", null, "pending"],
    ]);
    expect(states(completed)).toEqual({
      start: "done",
      "act:create_schema": "done",
      "act:create_tables": "done",
      "undo:create_schema": "none",
      completed: "done",
      failed: "none",
    });
    const failed = await get<FlowDetail>("reader", `/api/flows/${await scene.run("failed")}`);
    expect(states(failed)).toMatchObject({
      "act:create_tables": "failed",
      "undo:create_schema": "done",
      failed: "done",
    });
    expect(failed.graph.edges.filter(({ taken }) => taken).map(({ from, to }) => `${from} ${to}`)).toEqual([
      "start act:create_schema",
      "act:create_schema act:create_tables",
      "act:create_tables undo:create_schema",
      "undo:create_schema failed",
    ]);
    const stalled = await get<FlowDetail>("reader", `/api/flows/${await scene.run("stalled")}`);
    expect(states(stalled)).toMatchObject({ "undo:create_schema": "failed", failed: "none" });
    expect(stalled.actions).toEqual(["retry", "resolve"]);
    for (const id of ["none", "%00", "o-1"]) {
      expect([id, (await as("reader", `/api/flows/${id}`)).status]).toEqual([id, 404]);
    }
  });

  it("[P-04] where a flow's definition is not known, it is shown by what it came by, and nothing can be pressed", async () => {
    const scene = await openFlows(database);
    const id = await scene.run("stalled");
    const elsewhere = await database.amends({});
    const { get, as } = visit(elsewhere);
    const detail = await get<FlowDetail>("reader", `/api/flows/${id}`);
    expect(detail).toMatchObject({ status: "stalled", currentStep: "create_schema", actions: [] });
    expect(detail.graph.nodes.map(({ id: node }) => node)).toContain("act:create_tables");
    const sent = { method: "POST", body: { reason: "try" } };
    const refused = await as("operator", `/api/flows/${id}/retry`, sent);
    expect([refused.status, await refused.json()]).toMatchObject([501, { code: "NOT_SUPPORTED" }]);
  });

  it("[P-02] a stalled flow is retried or resolved with a reason, on record, and then ends", async () => {
    const scene = await openFlows(database);
    const [first, second] = [
      await scene.run("stalled", "stalled-1"),
      await scene.run("stalled", "stalled-2"),
    ];
    const { get, post, as } = visit(scene.amends);
    expect((await get<Page<AttentionLine>>("reader", "/api/attention")).items).toMatchObject([
      { kind: "stalled-run", id: first, processId: "stalled-1" },
      { kind: "stalled-run", id: second, processId: "stalled-2" },
    ]);
    const without = await as("operator", `/api/flows/${first}/retry`, { method: "POST", body: {} });
    expect(without.status).toBe(400);
    const again = await post<FlowDetail>("operator", `/api/flows/${first}/retry`, {
      reason: "is it free now?",
    });
    expect(again.status).toBe("compensating");
    await scene.settle();
    expect((await get<FlowDetail>("reader", `/api/flows/${first}`)).status).toBe("stalled");
    scene.mended.undo = true;
    await post("operator", `/api/flows/${first}/retry`, { reason: "it is free" });
    await scene.settle();
    expect((await get<FlowDetail>("reader", `/api/flows/${first}`)).status).toBe("failed");
    const resolved = await post<FlowDetail>("operator", `/api/flows/${second}/resolve`, {
      reason: "dropped by hand",
    });
    expect(resolved).toMatchObject({ status: "failed", actions: [] });
    const node = resolved.graph.nodes.find(({ id }) => id === "undo:create_schema");
    expect(node?.state).toBe("skipped");
    const late = await as("operator", `/api/flows/${second}/retry`, {
      method: "POST",
      body: { reason: "late" },
    });
    expect(late.status).toBe(409);
    const { items } = await get<Page<ActionLine>>("reader", "/api/audit");
    expect(
      items.map(({ action, target, reason, outcome }) => [action, target.kind, reason, outcome]),
    ).toEqual([
      ["retry", "flow", "late", "refused"],
      ["resolve", "flow", "dropped by hand", "done"],
      ["retry", "flow", "it is free", "done"],
      ["retry", "flow", "is it free now?", "done"],
    ]);
  });

  it("[P-02] an event that was given up is retried or resolved from the list of what needs a person, on record", async () => {
    const scene = await openFlows(database);
    const { get, post, as } = visit(scene.amends);
    const attention = async (): Promise<readonly AttentionLine[]> =>
      (await get<Page<AttentionLine>>("reader", "/api/attention")).items;
    const id = await scene.giveUp();
    expect(await attention()).toMatchObject([{ kind: "abandoned-event", id, actions: ["retry", "resolve"] }]);
    const line = await get<OutboxLine>("reader", `/api/outbox/${id}`);
    expect(line).toMatchObject({ kind: "delivery", status: "abandoned", actions: ["retry", "resolve"] });
    scene.mended.notice = true;
    const tried = await post<OutboxLine>("operator", `/api/outbox/${id}/retry`, {
      reason: "somebody listens",
    });
    expect(tried).toMatchObject({ status: "pending", attempts: 0, actions: [] });
    await scene.settle();
    expect(await get<OutboxLine>("reader", `/api/outbox/${id}`)).toMatchObject({ status: "succeeded" });
    scene.mended.notice = false;
    const other = await scene.giveUp();
    await post("operator", `/api/outbox/${other}/resolve`, { reason: "told by telephone" });
    expect(await attention()).toEqual([]);
    const late = await as("operator", `/api/outbox/${other}/retry`, {
      method: "POST",
      body: { reason: "late" },
    });
    expect(late.status).toBe(409);
    const { items } = await get<Page<ActionLine>>("reader", "/api/audit");
    expect(items.map(({ action, target, outcome }) => [action, target, outcome])).toEqual([
      ["retry", { kind: "event", id: other }, "refused"],
      ["resolve", { kind: "event", id: other }, "done"],
      ["retry", { kind: "event", id }, "done"],
    ]);
  });

  it("[X-01] what events carry is masked, and revealed to whoever may, on record", async () => {
    const scene = await openFlows(database);
    const id = await scene.run("stalled", "stalled-1", SECRET);
    const given = await scene.giveUp(SECRET);
    const { get, post, as } = visit(scene.amends);
    for (const path of ["flows", `flows/${id}`, "outbox", `outbox/${given}`, "attention"]) {
      const answer = await as("reader", `/api/${path}`);
      expect([path, answer.status, (await answer.text()).includes(SECRET)]).toEqual([path, 200, false]);
    }
    const detail = await get<FlowDetail>("reader", `/api/flows/${id}`);
    expect(detail.error).toEqual({ masked: true, shape: { srn: "text", secret: "text" } });
    const why = { reason: "the customer asked" };
    const reveal = (kind: string, of: string): Promise<Revealed> =>
      post<Revealed>("revealer", "/api/reveal", { kind, id: of, ...why });
    expect((await reveal("flow", id)).fields).toEqual({ error: { srn: "stalled-1", secret: SECRET } });
    expect((await reveal("event", given)).fields).toEqual({ data: { srn: "n-1", secret: SECRET } });
    for (const [kind, of] of [
      ["flow", "none"],
      ["event", "none"],
      ["attempt", "none"],
      ["attempt", "99"],
    ] as const) {
      const body = { kind, id: of, ...why };
      expect((await as("revealer", "/api/reveal", { method: "POST", body })).status).toBe(404);
    }
    const { items } = await get<Page<ActionLine>>("reader", "/api/audit?action=reveal");
    expect(items.filter(({ outcome }) => outcome === "done").map(({ target }) => target.kind)).toEqual([
      "event",
      "flow",
    ]);
  });

  it("[P-04] the overview counts flows and deliveries by state", async () => {
    const scene = await openFlows(database);
    const overview = async (): Promise<Overview> =>
      visit(scene.amends).get<Overview>("reader", "/api/overview");
    const none = { value: 0, exact: true };
    expect(await overview()).toMatchObject({
      flows: { running: none, compensating: none, stalled: none, completed: none, failed: none },
      deliveries: {
        Pending: none,
        InProgress: none,
        PendingRetry: none,
        Completed: none,
        DeadLettered: none,
      },
    });
    await scene.run("completed");
    await scene.run("stalled", "stalled-1");
    await scene.run("stalled", "stalled-2");
    expect(await overview()).toMatchObject({
      flows: { completed: { value: 1 }, stalled: { value: 2 }, failed: none },
      attention: { value: 2 },
    });
  });
});
