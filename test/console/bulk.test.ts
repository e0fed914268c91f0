/** Bulk actions over HTTP: a preview, a start, the progress, and who may do what. */
import { expect, it } from "vitest";
import type { BulkDetail, BulkLine, BulkPreview } from "../../src/console/contract-bulk.ts";
import type { ActionLine, Page } from "../../src/console/contract.ts";
import { scene as sagas } from "../bulk/support/scene.ts";
import { onEachDatabase, type TestDatabase } from "../support/databases.ts";
import { PAGE, visit } from "./support/visit.ts";

async function scene(database: TestDatabase) {
  const made = await sagas(database);
  await made.add(["s-1", "s-2", "s-3"], { attributes: { tenant: "acme" } });
  const other = await database.amends({ clock: made.clock });
  // The console of another process, which knows none of the sagas.
  return { ...made, ...visit(other) };
}

const RETRY = { action: "retry", saga: "order", status: "STALLED", attributes: "tenant=acme" };

onEachDatabase((database) => {
  it("[P-04][S-43] a bulk action is previewed, started, listed with its progress, stopped and repeated", async () => {
    const { amends, world, work, post, get } = await scene(database);
    const preview = await post<BulkPreview>("operator", "/api/bulk/preview", RETRY);
    expect(preview).toEqual({ count: 3, exact: true, sample: ["s-3", "s-2", "s-1"] });
    const started = await post<BulkDetail>("operator", "/api/bulk", {
      ...RETRY,
      reason: "it is back",
      id: "b-1",
    });
    expect(started).toMatchObject({
      id: "b-1",
      action: "retry",
      kind: "saga",
      status: "running",
      reason: "it is back",
      by: "Otto",
      filter: { saga: "order", status: ["STALLED"], attributes: { tenant: "acme" } },
      total: 3,
      done: 0,
      stop: null,
      actions: ["stop"],
      refusals: [],
    });
    const stopped = await post<BulkDetail>("operator", "/api/bulk/b-1/stop", { reason: "not yet" });
    expect(stopped).toMatchObject({
      status: "stopped",
      stop: { reason: "not yet", by: "Otto" },
      actions: ["repeat"],
    });
    await post("operator", "/api/bulk/b-1/repeat", { reason: "now", id: "b-2" });
    world.isDown = false;
    await work();
    const { items } = await get<Page<BulkLine>>("reader", "/api/bulk");
    expect(Object.fromEntries(items.map(({ id, status, done }) => [id, [status, done]]))).toEqual({
      "b-1": ["stopped", 0],
      "b-2": ["completed", 3],
    });
    expect(await get<BulkDetail>("reader", "/api/bulk/b-2")).toMatchObject({
      status: "completed",
      refused: 0,
    });
    const audit = await get<Page<ActionLine>>("reader", "/api/audit?target=s-1");
    expect(audit.items).toMatchObject([
      { by: "Otto", action: "retry", target: { kind: "saga" }, reason: "now", outcome: "done" },
    ]);
    expect((await amends.inspect("s-1"))?.timeline.find(({ name }) => name === "retry")).toMatchObject({
      bulk: "b-2",
    });
  });

  it("[P-04][S-43] ten thousand ids fit in one request, and what cannot be meant is a 400 that says why", async () => {
    const { post, as } = await scene(database);
    const ids = Array.from(
      { length: 10_000 },
      (_, index) => `0190a3f2-0000-7000-8000-${String(index).padStart(12, "0")}`,
    );
    expect(await post<BulkPreview>("operator", "/api/bulk/preview", { action: "cancel", ids })).toMatchObject(
      { count: 10_000 },
    );
    const refused = async (body: object, path: string = "/api/bulk") => {
      const response = await as("operator", path, { method: "POST", body });
      return [response.status, ((await response.json()) as { code: string }).code];
    };
    const reason = "r";
    expect(await refused({ action: "cancel", ids: [...ids, "one-more"], reason })).toEqual([
      400,
      "BAD_INPUT",
    ]);
    expect(await refused({ action: "retry", reason })).toEqual([400, "BAD_INPUT"]);
    expect(await refused({ action: "retry", status: "COMPLETED", reason })).toEqual([400, "BAD_INPUT"]);
    expect(await refused({ action: "remove", reason })).toEqual([400, "BAD_INPUT"]);
    expect(await refused({ ...RETRY })).toEqual([400, "BAD_INPUT"]);
    expect(await refused({ ...RETRY, ids: "s-1", reason })).toEqual([400, "BAD_INPUT"]);
    expect(await refused({ ...RETRY, surprise: 1, reason })).toEqual([400, "BAD_INPUT"]);
    expect(await refused({ reason }, "/api/bulk/none/stop")).toEqual([404, "BULK_NOT_FOUND"]);
    await post("operator", "/api/bulk", { ...RETRY, reason, id: "b-1" });
    expect(await refused({ ...RETRY, reason: "another", id: "b-1" })).toEqual([409, "BULK_CONFLICT"]);
  });

  it("[P-04][S-43] only operators preview, start and stop, and a browser only from the console's own page", async () => {
    const { as, ask } = await scene(database);
    for (const path of ["/api/bulk", "/api/bulk/preview", "/api/bulk/b-1/stop", "/api/bulk/b-1/repeat"]) {
      const body = { ...RETRY, reason: "r" };
      expect((await as("reader", path, { method: "POST", body })).status).toBe(403);
      expect((await ask(path, { method: "POST", body, headers: PAGE })).status).toBe(401);
    }
    expect((await ask("/api/bulk")).status).toBe(401);
  });
});
