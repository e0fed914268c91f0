/** What people, and applications, do to webhooks is on record: who, what, why, and what became of it. */
import { expect, it } from "vitest";
import { sql } from "../../src/storage/sql.ts";
import { onEachForm, stage, type Stage } from "./support/stage.ts";

const NOTE = { reason: "their maintenance", by: "ann" };

async function record({ db }: Stage): Promise<readonly string[]> {
  const rows = await db.query(
    sql`select * from ${db.dialect.table("operator_actions")} order by id, outcome`,
  );
  return rows.map((row) =>
    ["action", "target_kind", "target_id", "outcome", "done_by", "reason", "code"]
      .map((name) => String(row[name]))
      .join(" / "),
  );
}

function lines(what: string, by: string = "ann", reason: string = "their maintenance"): string[] {
  return ["asked", "done"].map((outcome) => `${what} / ${outcome} / ${by} / ${reason} / null`);
}

onEachForm((database) => {
  it("[P-02] a pause, an enabling, an end and both ways of sending again are on record, with who and why", async () => {
    const on = await stage(database);
    const { webhooks } = on.amends;
    const id = await on.subscribe("a");
    await on.publish();
    await on.work();
    const since = new Date(0);
    await webhooks.pause(id, NOTE);
    await webhooks.enable(id, NOTE);
    await webhooks.resend("1", NOTE);
    await on.work();
    await webhooks.resendSince(id, { since }, NOTE);
    await webhooks.unsubscribe(id, NOTE);
    expect(await record(on)).toEqual([
      ...lines(`pause / subscription / ${id}`),
      ...lines(`enable / subscription / ${id}`),
      ...lines("resend / delivery / 1"),
      ...lines(`resend / subscription / ${id}`),
      ...lines(`unsubscribe / subscription / ${id}`),
    ]);
  });

  it("[P-02] without a note they are on record as well, and say that none was given", async () => {
    const on = await stage(database);
    const id = await on.subscribe("a");
    await on.amends.webhooks.pause(id);
    await on.amends.webhooks.enable(id, { by: "ann" });
    await on.amends.webhooks.pause(id, { reason: "again" });
    expect(await record(on)).toEqual([
      ...lines(`pause / subscription / ${id}`, "unknown", "no reason given"),
      ...lines(`enable / subscription / ${id}`, "ann", "no reason given"),
      ...lines(`pause / subscription / ${id}`, "unknown", "again"),
    ]);
    expect(await on.amends.webhooks.subscription(id)).toMatchObject({ reason: "again" });
  });

  it("[P-02] what was refused is on record as refused, with the code", async () => {
    const on = await stage(database);
    const id = await on.subscribe("a");
    await on.publish();
    await expect(on.amends.webhooks.resend("1", NOTE)).rejects.toMatchObject({ code: "NOT_ALLOWED_NOW" });
    await on.amends.webhooks.unsubscribe(id, NOTE);
    await expect(on.amends.webhooks.enable(id, NOTE)).rejects.toMatchObject({ code: "NOT_ALLOWED_NOW" });
    const refused = (what: string): string[] => [
      `${what} / asked / ann / their maintenance / null`,
      `${what} / refused / ann / their maintenance / NOT_ALLOWED_NOW`,
    ];
    expect(await record(on)).toEqual([
      ...refused("resend / delivery / 1"),
      ...lines(`unsubscribe / subscription / ${id}`),
      ...refused(`enable / subscription / ${id}`),
    ]);
  });

  it("[P-02][K-20] a reason or a name that cannot be kept is refused, and nothing is done", async () => {
    const on = await stage(database);
    const id = await on.subscribe("a");
    for (const note of [{ reason: " " }, { reason: "x".repeat(1_001) }, { by: "x".repeat(256) }])
      await expect(on.amends.webhooks.pause(id, note)).rejects.toMatchObject({ code: "BAD_OPTION" });
    expect(await on.amends.webhooks.subscription(id)).toMatchObject({ status: "Active" });
    expect(await record(on)).toEqual([]);
  });
});
