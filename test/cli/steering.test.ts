/** What an operator does from the terminal: with a reason, on record, and with a word on what came of it. */
import { AuditTrail, DatabaseAuditSink, verifyAuditChain } from "amends/audit";
import { expect, it } from "vitest";
import { onEachDatabase } from "../support/databases.ts";
import { actionsOf } from "./support/actions.ts";
import { cli, json } from "./support/cli.ts";
import { forget, project } from "./support/project.ts";
import { brokenSystem } from "./support/scene.ts";

onEachDatabase((database) => {
  it("[P-03][P-02] a broken system is mended from the terminal alone, every action with a reason, on record", async () => {
    const { at, amends, db, abandoned, dead } = await brokenSystem(database);
    const why = ["--reason", "the bank is back", "--by", "ann"];
    expect(await json(["retry", "o-stalled", ...why, ...at])).toMatchObject({
      what: "saga",
      status: "COMPENSATING",
    });
    expect(await json(["requeue", abandoned[0] ?? "", ...why, ...at])).toMatchObject({
      what: "entry",
      status: "pending",
      attempts: 0,
    });
    const { out } = await cli(["requeue", abandoned[1] ?? "", ...why, ...at]);
    expect(out).toContain(`Requeued: entry ${abandoned[1]} is pending`);
    const sent = await cli(["resend", dead, ...why, ...at]);
    expect(sent.out).toMatch(/as the new delivery \d+, which is Pending/);
    expect(
      (await actionsOf(amends)).map(({ by, action, target, reason, outcome }) => [
        by,
        action,
        target.kind,
        reason,
        outcome,
      ]),
    ).toEqual([
      ["ann", "resend", "delivery", "the bank is back", "done"],
      ["ann", "requeue", "entry", "the bank is back", "done"],
      ["ann", "requeue", "entry", "the bank is back", "done"],
      ["ann", "retry", "saga", "the bank is back", "done"],
    ]);
    const trail = await new AuditTrail(db).list({ subjectId: "u-1" });
    expect(trail.events.at(-1)).toMatchObject({
      type: "ERASURE_REQUEUED",
      payload: { reason: "the bank is back", by: "ann" },
    });
    expect((await cli(["status", ...at])).out).toContain("Nothing needs attention.");
  });

  it("[P-03][S-14][O-21] a stalled saga is skipped or resolved by hand, and an abandoned erasure is confirmed", async () => {
    const { at, amends, db, dead, abandoned } = await brokenSystem(database);
    const why = ["--reason", "refunded by hand"];
    expect((await cli(["skip", "o-stalled", ...why, ...at])).err).toContain(
      "Name the step: --step STEP. It may be: charge.",
    );
    expect((await cli(["resolve", "o-stalled", ...why, ...at])).err).toContain(
      "--as COMPLETED or --as FAILED",
    );
    expect(await json(["resolve", "o-stalled", "--as", "FAILED", ...why, ...at])).toMatchObject({
      status: "FAILED",
    });
    expect(await json(["resolve", abandoned[0] as string, ...why, ...at])).toMatchObject({
      status: "succeeded",
    });
    const { events } = await new AuditTrail(db).list({ subjectId: "u-1" });
    expect(events.map(({ type }) => type).slice(-2)).toEqual(["ERASURE_STEP_RESOLVED", "ERASURE_COMPLETED"]);
    expect(await json(["dismiss", dead, ...why, ...at])).toMatchObject({
      what: "delivery",
      deadLetter: "Dismissed",
    });
    expect((await amends.inspect("o-stalled"))?.timeline.at(-1)).toMatchObject({
      name: "resolve",
      note: "refunded by hand",
    });
  });

  it("[P-03][E-09] where the audit trail is chained nothing is requeued without its key", async () => {
    const { at, db, abandoned } = await brokenSystem(database);
    const key = "a key of the application, 32 bytes";
    const chained = new DatabaseAuditSink(db, { chain: { key } });
    await chained.append([{ type: "ERASURE_REQUESTED", subjectId: "u-9", payload: {} }]);
    const { code, err } = await cli(["requeue", abandoned[0] ?? "", "--reason", "r", ...at]);
    expect([code, err]).toEqual([1, expect.stringMatching(/^error: The audit trail is chained/)]);
    expect(await verifyAuditChain(db, { key })).toEqual({ ok: true, links: 1 });
    expect((await json<{ status: string }>(["show", abandoned[0] ?? "", ...at])).status).toBe("abandoned");
    // With the config that has the key, it is requeued, and the chain goes on.
    const folder = await project({
      "package.json": '{ "type": "module" }',
      "amends.config.js": `import { dataMap } from "amends/erasure";
export default {
  database: ${JSON.stringify(at[1])},
  erasure: { dataMap: dataMap({ users: { subject: "id" } }), audit: { chain: { key: "${key}" } } },
};`,
    });
    expect((await cli(["requeue", abandoned[0] ?? "", "--reason", "r"], { cwd: folder })).code).toBe(0);
    expect(await verifyAuditChain(db, { key })).toEqual({ ok: true, links: 2 });
    forget(folder);
  });

  it("[P-03] an action without a reason, on what has ended, or on what it is not for, is refused in one line", async () => {
    const { at, dead, abandoned } = await brokenSystem(database);
    const why = ["--reason", "because"];
    const [entry = ""] = abandoned;
    const refused = async (argv: readonly string[], code: number, message: RegExp): Promise<void> => {
      const ran = await cli([...argv, ...at]);
      expect([argv.join(" "), ran.code, ran.out]).toEqual([argv.join(" "), code, ""]);
      expect(ran.err).toMatch(message);
      expect(ran.err).not.toMatch(/\n {4}at /);
    };
    await refused(["cancel", "o-completed"], 2, /A reason is required: --reason/);
    await refused(["cancel", "o-completed", "--reason", "  "], 2, /A reason is required: --reason/);
    await refused(
      ["cancel", "o-completed", ...why],
      1,
      /^error: The saga has completed: it can no longer be cancelled\.\n/,
    );
    await refused(["retry", "o-failed", ...why], 1, /Only a stalled saga can be retried; this one is FAILED/);
    await refused(
      ["retry", "nobody", ...why],
      1,
      /There is no saga, schedule, flow, entry, delivery or subscription with the id "nobody"/,
    );
    await refused(
      ["cancel", dead, ...why],
      1,
      /This is a delivery \(DeadLettered\): amends cancel is for saga\./,
    );
    await refused(
      ["retry", entry, ...why],
      1,
      new RegExp(
        `^error: This is an abandoned entry: amends requeue ${entry}, or amends resolve ${entry}\n$`,
      ),
    );
    await refused(
      ["retry", dead, ...why],
      1,
      new RegExp(`\n +What helps: amends resend ${dead}, or amends dismiss ${dead}\n$`),
    );
    const told = await cli(["cancel", "o-completed", ...why, ...at, "--json"]);
    expect(JSON.parse(told.out)).toEqual({
      error: { code: "CANCEL_REFUSED", message: "The saga has completed: it can no longer be cancelled." },
    });
  });
});
