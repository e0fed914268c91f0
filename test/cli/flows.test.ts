/** Runs of sagas over events from the terminal, where the console has them. */
import { createConsole } from "amends/console";
import { expect, it } from "vitest";
import { convention, Registered } from "../events/support/convention.ts";
import { TOKENS } from "../console/support/visit.ts";
import { runIn } from "../events/support/flow.ts";
import { onEachDatabase } from "../support/databases.ts";
import { cli, json } from "./support/cli.ts";

onEachDatabase((database) => {
  it("[P-03][P-02] a stalled flow is listed, shown, drawn and steered", async () => {
    const { saga, undoers } = convention({ tables: "err", undoSchema: "err" });
    const amends = await database.amends({ events: [saga, ...undoers] });
    const worker = await database.worker(amends);
    await amends.events.publish(Registered({ srn: "c-1" }));
    const { id } = await runIn(amends, saga, "c-1", "stalled");
    await worker.stop();
    const at = ["--database", await database.place()];
    expect(await json(["list", "flows", "--status", "stalled", ...at])).toMatchObject({
      items: [{ id, processId: "c-1" }],
    });
    expect((await cli(["list", "flows", ...at])).out).toContain(id);
    const { out, code } = await cli(["show", id, ...at]);
    expect([code, out]).toEqual([0, expect.stringMatching(/^stalled {2}\S+ {2}/)]);
    expect(out).toMatch(/undo failed create_schema: CompensationFailed\n/);
    expect(out).toContain(`amends retry ${id} --reason "…"\n  amends resolve ${id} --reason "…"\n`);
    expect((await cli(["diagram", id, ...at])).out).toMatch(/^sequenceDiagram\n/);
    expect((await cli(["status", ...at])).out).toMatch(/flows {7}1 stalled/);
    const note = ["--reason", "the schema is back"];
    const alone = await cli(["retry", id, ...note, ...at]);
    expect([alone.code, alone.err]).toEqual([1, expect.stringContaining("is not registered here")]);
    const server = await createConsole(amends, { tokens: [TOKENS.operator] }).listen({ port: 0 });
    const there = ["--console", server.url, "--token", TOKENS.operator.token];
    expect((await cli(["show", id, ...there])).out).toContain(`amends retry ${id} --reason "…"`);
    expect(await json(["retry", id, ...note, ...there])).toMatchObject({
      what: "flow",
      status: "compensating",
    });
    expect((await amends.events.inspect(id))?.notes).toMatchObject([{ action: "retry", by: "Otto" }]);
    await server.close();
  });
});
