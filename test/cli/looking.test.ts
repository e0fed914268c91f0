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

  it("[S-39][P-03] a saga that was started for later says when it runs, with its priority and its attributes", async () => {
    const order = orders();
    const amends = await database.amends({ sagas: [order] });
    await amends.start(
      order,
      { orderId: "o-1", end: "COMPLETED" },
      { id: "o-1", delay: "2h", priority: 3, attributes: { tenant: "acme corp", tier: "2", vip: true } },
    );
    const at = ["--database", await database.place()];
    expect((await cli(["list", ...at])).out).toMatch(/PENDING +place-order +o-1 .* runs in (?:2 h|1 h 59 m)/);
    const { out } = await cli(["show", "o-1", ...at]);
    expect(out).toMatch(/scheduled +in (?:2 h|1 h 59 m) \(20.*Z\)/);
    expect(out).toMatch(/priority +3/);
    expect(out).toMatch(/attributes +tenant=acme corp, tier="2", vip=true/);
  });

  it("[S-42][P-03] sagas are listed by attribute, by error and by time", async () => {
    const order = orders();
    const amends = await database.amends({ sagas: [order] });
    const at = ["--database", await database.place()];
    for (const [id, end, tenant] of [
      ["o-1", "COMPLETED", "acme"],
      ["o-2", "FAILED", "acme"],
      ["o-3", "FAILED", "globex"],
    ] as const)
      await amends.start(order, { orderId: id, end }, { id, attributes: { tenant } });
    while ((await amends.worker().runOnce()) > 0);
    const ids = async (...options: readonly string[]): Promise<readonly string[]> =>
      (await json<Listed>(["list", ...options, ...at])).items.map(({ id }) => id).toSorted();
    expect(await ids("--attributes", "tenant=acme")).toEqual(["o-1", "o-2"]);
    const { error = "" } = (await amends.list({ status: "FAILED" })).items[0] ?? {};
    expect(await ids("--error", error)).toEqual(["o-2", "o-3"]);
    expect(await ids("--error", error, "--attributes", "tenant=globex")).toEqual(["o-3"]);
    expect(await ids("--until", "2020-01-01")).toEqual([]);
    expect(await ids("--since", "2020-01-01", "--until", "2999-01-01")).toEqual(["o-1", "o-2", "o-3"]);
    const shown = (await cli(["list", "--attributes", "tenant=globex", ...at])).out;
    expect(shown).toMatch(/FAILED +place-order +o-3 .*tenant=globex/);
    expect((await cli(["list", "outbox", "--error", "x", ...at])).err).toContain("--error is for sagas.");
    expect((await cli(["list", "--attributes", "tenant", ...at])).err).toContain(
      "pairs such as tenant=acme,tier=2",
    );
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
