/** Bulk actions from the terminal: a preview and a question, the start, the progress, a stop. */
import { expect, it } from "vitest";
import { run } from "../../src/cli/program/run.ts";
import type { BulkDetail } from "../../src/console/contract-bulk.ts";
import { NOTE, scene as sagas } from "../bulk/support/scene.ts";
import { onEachDatabase, virtualClock, type TestDatabase } from "../support/databases.ts";
import { cli, json } from "./support/cli.ts";

async function scene(database: TestDatabase) {
  // The command line lives by the real clock, and comes later.
  const made = await sagas(database, { clock: virtualClock(Date.now() - 3_600_000) });
  await made.add(["s-1", "s-2", "s-3"], { attributes: { tenant: "acme" } });
  return { ...made, at: ["--database", await database.place()] };
}

const WHY = ["--reason", NOTE.reason];

/** At a terminal, where a person answers. */
async function answered(argv: readonly string[], answer: string) {
  const asked: string[] = [];
  let [out, err] = ["", ""];
  const code = await run(argv, {
    env: {},
    cwd: process.cwd(),
    terminal: { columns: 200, colours: false },
    ask: async (question) => {
      asked.push(question);
      return answer;
    },
    out: (text) => void (out += text),
    err: (text) => void (err += text),
    stop: new AbortController().signal,
    nowMs: () => Date.now(),
  });
  return { code, out, err, asked };
}

onEachDatabase((database) => {
  it("[P-03][S-43] a bulk action counts its items and asks, and starts only after a yes", async () => {
    const { amends, at, world, work } = await scene(database);
    const argv = ["bulk", "retry", "--saga", "order", "--status", "STALLED", ...WHY, "--by", "ann", ...at];
    const no = await answered(argv, "");
    expect(no).toMatchObject({ code: 0, asked: ["retry 3 items? [y/N] "] });
    expect(no.err).toMatch(/retry: 3 items.*s-3, s-2, s-1/);
    expect(no.out).toBe("Nothing was started.\n");
    const silent = await cli(argv);
    expect([silent.code, silent.err]).toEqual([1, expect.stringContaining("Add --yes")]);
    expect((await amends.bulk.list()).items).toEqual([]);
    const yes = await answered(argv, "y");
    expect(yes.code).toBe(0);
    expect(yes.out).toMatch(/bulk retry \S+ is running/);
    expect(yes.out).toMatch(/items +STALLED, saga order/);
    expect(yes.out).toMatch(/progress +0 of 3, 0 refused/);
    expect(yes.out).toMatch(/reason +the bank is back \(ann\)/);
    world.isDown = false;
    await work();
    const [view] = (await amends.bulk.list()).items;
    expect(view).toMatchObject({ status: "completed", done: 3, by: "ann" });
    const shown = await cli(["bulk", "show", view?.id ?? "", "--follow", ...at]);
    expect(shown.out).toMatch(/is completed/);
    expect(shown.out).toMatch(/3 of 3, 0 refused/);
  });

  it("[P-03][S-43] with --yes and --json programs start, list, show, stop and repeat bulk actions", async () => {
    const { at, work } = await scene(database);
    const cancel = ["bulk", "cancel", "--ids", "s-1,none", "--id", "b-1", "--yes", ...WHY, ...at];
    const started = await json<BulkDetail>(cancel);
    expect(started).toMatchObject({ id: "b-1", action: "cancel", status: "running", total: 2, filter: null });
    const again = await json<BulkDetail>(cancel);
    expect(again).toEqual(started);
    await work();
    const shown = await json<BulkDetail>(["bulk", "show", "b-1", ...at]);
    expect(shown).toMatchObject({ status: "completed", done: 0, refused: 2, actions: ["repeat"] });
    expect(shown.refusals.map(({ id }) => id)).toEqual(["s-1", "none"]);
    const people = await cli(["bulk", "show", "b-1", ...at]);
    expect(people.out).toMatch(/none +SAGA_NOT_FOUND/);
    const other = await json<BulkDetail>(["bulk", "repeat", "b-1", "--id", "b-2", ...WHY, ...at]);
    expect(other).toMatchObject({ id: "b-2", status: "running", total: 2, actions: ["stop"] });
    const stopped = await json<BulkDetail>(["bulk", "stop", "b-2", "--reason", "not now", ...at]);
    expect(stopped).toMatchObject({ status: "stopped", stop: { reason: "not now" } });
    const filtered = ["--attributes", "tenant=acme", "--since", "2020-01-01T00:00:00Z", "--as", "FAILED"];
    await json(["bulk", "resolve", ...filtered, "--id", "b-3", "--yes", ...WHY, ...at]);
    const { items } = await json<{ items: BulkDetail[] }>(["bulk", "list", ...at]);
    expect(Object.fromEntries(items.map(({ id, status }) => [id, status]))).toEqual({
      "b-1": "completed",
      "b-2": "stopped",
      "b-3": "running",
    });
    const listed = await cli(["bulk", "list", ...at]);
    expect(listed.out).toMatch(/STATUS +ACTION +ITEMS +PROGRESS +ID/);
    expect(listed.out).toMatch(/stopped +cancel +2 ids +0 of 2, 0 refused +b-2/);
  });

  it("[P-03][S-43] what cannot be meant is refused with what to do", async () => {
    const { at } = await scene(database);
    const refused = async (...argv: readonly string[]) => {
      const { code, err } = await cli(["bulk", ...argv, ...at]);
      return [code, err];
    };
    expect(await refused("retry", "--status", "STALLED")).toEqual([
      2,
      expect.stringContaining("A reason is required"),
    ]);
    expect(await refused("remove", ...WHY)).toEqual([2, expect.stringContaining("There are: retry, ")]);
    expect(await refused("show")).toEqual([2, expect.stringContaining("amends bulk show ID")]);
    expect(await refused("show", "none")).toEqual([1, expect.stringContaining("no bulk action")]);
    expect(await refused("stop", "none")).toEqual([2, expect.stringContaining("A reason is required")]);
    expect(await refused("retry", "s-1", ...WHY)).toEqual([2, expect.stringContaining("--ids")]);
    expect(await refused("retry", ...WHY, "--yes")).toEqual([1, expect.stringContaining("say which items")]);
    expect(await refused("skip", "--status", "STALLED", ...WHY, "--yes")).toEqual([
      1,
      expect.stringContaining("step"),
    ]);
    expect(await refused("retry", "--since", "soon", ...WHY)).toEqual([
      2,
      expect.stringContaining("is no time"),
    ]);
    expect(await refused("skip", "--result", "{", ...WHY)).toEqual([
      2,
      expect.stringContaining("must be JSON"),
    ]);
  });
});
