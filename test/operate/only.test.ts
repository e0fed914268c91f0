/** Workers that drive some of the duties only. */
import { saga } from "amends";
import { expect, it } from "vitest";
import { z } from "zod";
import { raw } from "../../src/storage/sql.ts";
import { onDatabase, onEachDatabase } from "../support/databases.ts";
import { loginAs } from "../webhooks/support/logins.ts";
import { World } from "../webhooks/support/stage.ts";

const one = saga("one", z.object({})).step("one", { act: () => 1 });

onEachDatabase((database) => {
  it("[P-01] a worker that is told which duties to drive leaves the others alone", async () => {
    const world = new World();
    const amends = await database.amends({ sagas: [one], webhooks: { sender: world } });
    await amends.webhooks.subscribe({ url: "https://a.example", events: ["*"] });
    await amends.webhooks.publish({ type: "order.placed", data: {} });
    await amends.start(one, {}, { id: "a" });
    expect(await amends.worker({ only: ["sagas"] }).runOnce()).toBe(1);
    expect([(await amends.inspect("a"))?.status, world.sent.length]).toEqual(["COMPLETED", 0]);
    await amends.start(one, {}, { id: "b" });
    expect(await amends.worker({ only: ["webhooks"] }).runOnce()).toBe(1);
    expect([(await amends.inspect("b"))?.status, world.sent.length]).toEqual(["PENDING", 1]);
    const worker = amends.worker({ only: ["sagas", "webhooks"] });
    await worker.start();
    await expect.poll(async () => (await amends.inspect("b"))?.status).toBe("COMPLETED");
    await worker.stop();
  });

  it("[P-01] a name that there is not is refused, with those that there are", async () => {
    const amends = await database.amends({ sagas: [one], webhooks: {} });
    for (const only of [["saga"], [], ["webhooks:dead-letters"]]) {
      const refused = amends.worker({ only }).start();
      await expect(refused).rejects.toMatchObject({ code: "BAD_OPTION" });
      await expect(refused).rejects.toThrow("sagas, schedules, webhooks, webhooks:administrator");
      await expect(amends.worker({ only }).runOnce()).rejects.toMatchObject({ code: "BAD_OPTION" });
    }
    expect(() => amends.worker({ only: "sagas" as never })).toThrow("`only` must be a list");
    // A worker that was refused does not stand in the way of another one.
    const worker = amends.worker({ only: ["sagas"] });
    await worker.start();
    await worker.stop();
  });
});

onDatabase("postgres", (database) => {
  it("[P-01][W-13] the check at the start of a worker reads no table that its duties do not need", async () => {
    const owner = await database.open();
    const db = await loginAs(database, ["sender"]);
    for (const table of ["saga_executions", "outbox", "saga_state"])
      await expect(db.query(raw(`select 1 from amends.${table}`))).rejects.toMatchObject({ code: "42501" });
    const amends = await database.amends({ database: db, sagas: [one], webhooks: { sender: new World() } });
    expect(await amends.worker({ only: ["webhooks:sender"] }).runOnce()).toBe(0);
    await expect(amends.worker({ only: ["sagas"] }).runOnce()).rejects.toThrow(
      "lacks rights that sagas needs: select on amends.saga_executions",
    );
    await owner.close();
  });
});
