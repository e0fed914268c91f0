/** What people see in the terminal, and programs as JSON: on a database alone, without anybody's definitions. */
import { stripVTControlCharacters } from "node:util";
import { expect, it } from "vitest";
import { sql } from "../../src/storage/sql.ts";
import { orders } from "../console/support/shop.ts";
import { onEachDatabase } from "../support/databases.ts";
import { actionsOf } from "./support/actions.ts";
import { cli, json } from "./support/cli.ts";
import { brokenSystem, type Scene } from "./support/scene.ts";

const TERMINAL = { columns: 100, colours: true };

interface Listed {
  readonly items: readonly { readonly id: string; readonly status: string; readonly kind: string }[];
  readonly more: boolean;
}

onEachDatabase((database) => {
  it("[P-03] in a narrow terminal each attention item shows its whole reason and its whole id, within the width", async () => {
    const { at, abandoned, dead } = await brokenSystem(database);
    const narrow = await cli(["list", "attention", ...at], { terminal: { columns: 80, colours: false } });
    const lines = narrow.out.trimEnd().split("\n");
    expect(lines.filter((line) => line.length > 80)).toEqual([]);
    const words = narrow.out.replaceAll(/\s+/g, " ");
    expect(words).toContain("the undo of step charge failed (RangeError). Actions: retry, skip, resolve");
    expect(words).toContain(
      "for u-1: stripe did not erase: NotAuthorised, 1 attempt. Actions: requeue, resolve",
    );
    for (const id of [...abandoned, "o-stalled", dead]) expect(words).toContain(` ${id} `);
    const wide = await cli(["list", "attention", ...at], { terminal: { columns: 160, colours: false } });
    expect(wide.out).toMatch(/^KIND +NAME +ID +SINCE +ACTIONS +REASON\n/);
  });

  it("[P-03] status says that no worker takes the due work before it counts as stuck", async () => {
    const db = await database.open();
    const order = orders();
    const amends = await database.amends({ database: db, sagas: [order] });
    await amends.start(order, { orderId: "o-1", end: "COMPLETED" }, { id: "o-1" });
    const at = ["--database", await database.place()];
    expect((await cli(["status", ...at])).out).not.toContain("no worker has taken");
    const { dialect } = db;
    await db.query(
      sql`update ${dialect.table("saga_executions")} set next_attempt_at = ${dialect.plusMs(dialect.now(), -25_000)}`,
    );
    const { code, out } = await cli(["status", ...at]);
    expect(out).toMatch(
      /progress +no worker has taken the oldest due saga for 2\d s\. Is one running\? amends worker/,
    );
    expect(code).toBe(0);
  });

  it("[P-03] status counts all parts and says what needs attention, with an exit code for scripts", async () => {
    const { at, amends } = await brokenSystem(database);
    const ran = await cli(["status", ...at]);
    expect(ran.code).toBe(3);
    expect(ran.out).toMatch(/sagas {7}1 STALLED {2}1 COMPLETED {2}1 FAILED/);
    expect(ran.out).toMatch(/outbox {6}2 abandoned/);
    expect(ran.out).toContain("4 items need attention.");
    for (const kind of ["stalled-saga", "abandoned-entry", "dead-letter"]) expect(ran.out).toContain(kind);
    const { ok, sagas, backlog, needsPerson } = await json<{
      ok: boolean;
      sagas: { byStatus: Record<string, { value: number }> };
      backlog: { oldestMs: number };
      needsPerson: readonly unknown[];
    }>(["status", ...at], 3);
    expect([ok, sagas.byStatus["STALLED"]?.value, backlog.oldestMs, needsPerson.length]).toEqual([
      false,
      1,
      0,
      4,
    ]);
    await amends.close();
  });

  it("[P-03] an empty system needs nothing", async () => {
    await database.open();
    const ran = await cli(["status", "--database", await database.place()]);
    expect([ran.code, ran.out.includes("Nothing needs attention.")]).toEqual([0, true]);
    expect((await cli(["list", "--database", await database.place()])).out).toBe("Nothing.\n");
  });

  it("[P-03][X-01] every part is listed with filters, shown with its timeline, drawn; values on request, on record", async () => {
    expect.hasAssertions();
    const scene = await brokenSystem(database);
    await lists(scene);
    await shows(scene);
    await reveals(scene);
    await draws(scene);
  });
});

async function lists({ at, abandoned, dead }: Scene): Promise<void> {
  const ids = async (...argv: string[]): Promise<readonly string[]> =>
    (await json<Listed>(["list", ...argv, ...at])).items.map(({ id }) => id).toSorted();
  expect(await ids()).toEqual(["o-completed", "o-failed", "o-stalled"]);
  expect(await ids("sagas", "--status", "stalled,failed")).toEqual(["o-failed", "o-stalled"]);
  expect(await ids("sagas", "--name", "nobody")).toEqual([]);
  expect(await ids("outbox", "--status", "abandoned", "--name", "stripe")).toEqual(abandoned.toSorted());
  expect(await ids("deliveries", "--status", "dead-lettered,Completed")).toEqual([dead]);
  expect(await ids("deliveries", "--name", "order.shipped")).toEqual([]);
  expect(await ids("attention", "--name", "stripe")).toEqual(abandoned.toSorted());
  const one = await json<Listed>(["list", "--limit", "1", ...at]);
  expect([one.items.length, one.more]).toEqual([1, true]);
  for (const part of ["sagas", "outbox", "deliveries", "attention"]) {
    const wide = await cli(["list", part, ...at]);
    expect([part, wide.code]).toEqual([part, 0]);
    const narrow = await cli(["list", part, ...at], {
      terminal: { ...TERMINAL, columns: 72, colours: false },
    });
    // Ids are never cut off; whatever else there is gives way first.
    const shown = abandoned.filter((id) => wide.out.includes(id));
    expect(shown.filter((id) => !narrow.out.includes(id))).toEqual([]);
  }
  expect((await cli(["list", "saga", ...at])).err).toContain("Did you mean sagas?");
  expect((await cli(["list", "sagas", "--status", "sleeping", ...at])).code).toBe(2);
}

/** A saga with its timeline and its way back, an entry and a delivery by their ids. */
async function shows({ at, abandoned, dead }: Scene): Promise<void> {
  const { out, code } = await cli(["show", "o-stalled", ...at], { terminal: TERMINAL });
  const plain = stripVTControlCharacters(out);
  expect(code).toBe(0);
  expect(plain).toMatch(/^STALLED {2}place-order {2}o-stalled\n/);
  expect(plain).toMatch(/failed +ship: no-stock \(err\)/);
  expect(plain).toMatch(/ship +█+ +\d+ ms ✗ no-stock/);
  expect(plain).toMatch(/undo charge +◀█* +\d+ ms ✗ RangeError/);
  expect(plain).toMatch(/undo reserve +◀█* +\d+ ms\n/);
  expect(plain).toContain('amends retry o-stalled --reason "…"');
  expect(plain).toContain('amends skip o-stalled --step charge --reason "…"');
  expect(out).toContain("\u001b[31m");
  for (const line of plain.split("\n").filter((one) => /[█◆]/.test(one)))
    expect(line.length).toBeLessThanOrEqual(TERMINAL.columns);
  expect(plain).toContain("{ orderId: text, end: text, customer: { email: text } }");
  expect(plain).not.toContain("ada@example.com");
  expect(await json(["show", "o-completed", ...at])).toMatchObject({
    what: "saga",
    status: "COMPLETED",
    timeline: [{}, {}, {}, {}, {}, {}, {}],
  });
  expect(await json(["show", abandoned[0] ?? "", ...at])).toMatchObject({
    what: "entry",
    status: "abandoned",
    actions: ["requeue", "resolve"],
  });
  expect(await json(["show", dead, ...at])).toMatchObject({
    what: "delivery",
    status: "DeadLettered",
    attempts: [{ code: "http_503" }],
  });
  expect((await cli(["show", dead, ...at])).out).toMatch(/http_503 .* 503/);
  expect((await cli(["show", dead, "--kind", "saga", ...at])).code).toBe(1);
}

async function reveals({ at, amends }: Scene): Promise<void> {
  expect((await cli(["show", "o-failed", "--reveal", ...at])).code).toBe(2);
  const { out } = await cli(["show", "o-failed", "--reveal", "--reason", "ticket 12", ...at]);
  expect(out).toContain("ada@example.com");
  expect(await actionsOf(amends)).toMatchObject([{ action: "reveal", reason: "ticket 12" }]);
}

async function draws({ at }: Scene): Promise<void> {
  expect((await cli(["diagram", "o-failed", ...at])).out).toMatch(
    /^sequenceDiagram\n {2}participant S as place-order\n/,
  );
  const { mermaid } = await json<{ mermaid: string }>(["diagram", "o-failed", "--as", "state", ...at]);
  expect(mermaid).toMatch(/--> FAILED\n {2}FAILED --> \[\*\]\n$/);
}
