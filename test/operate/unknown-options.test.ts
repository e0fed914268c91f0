/** An option that does not exist is refused: ignored, it would look like one that works. */
import type { Amends } from "amends";
import { expect, it } from "vitest";
import { onDatabase } from "../support/databases.ts";

onDatabase("sqlite", (database) => {
  const misspelt = { deadlin: "5s" } as object;

  async function everyPart(): Promise<Amends> {
    return database.amends({ webhooks: {}, calls: [], retention: { webhooks: "1d" } });
  }

  const calls: readonly (readonly [what: string, call: (amends: Amends) => unknown])[] = [
    ["worker.stop", (amends) => amends.worker().stop(misspelt)],
    ["amends.close", (amends) => amends.close(misspelt)],
    ["amends.migrate", (amends) => amends.migrate(misspelt)],
    ["webhooks.subscriptions", (amends) => amends.webhooks.subscriptions(misspelt)],
    ["webhooks.deliveries", (amends) => amends.webhooks.deliveries(misspelt)],
    ["webhooks.deadLetters", (amends) => amends.webhooks.deadLetters(misspelt)],
    ["webhooks.rotateSecret", (amends) => amends.webhooks.rotateSecret("1", misspelt)],
    ["worker.runOnce", (amends) => amends.worker().runOnce(misspelt as never)],
    ["calls.listAbandoned", (amends) => amends.calls.listAbandoned(misspelt)],
  ];

  it.each(calls)("[K-20] %s refuses an option that it does not have", async (_what, call) => {
    const amends = await everyPart();
    await expect(call(amends)).rejects.toMatchObject({ code: "BAD_OPTION" });
    await expect(call(amends)).rejects.toThrow(/there is no option named deadlin/);
  });

  const runs: readonly (readonly [what: string, of: (amends: Amends) => { runOnce(): Promise<number> }])[] = [
    ["calls", (amends) => amends.calls],
    ["retention", (amends) => amends.retention],
  ];

  it.each(runs)("[K-20] runOnce of %s refuses options: it has none", async (_what, of) => {
    const part = of(await everyPart()) as { runOnce(options: object): Promise<number> };
    await expect(part.runOnce({ deadline: "5s" })).rejects.toThrow(/runOnce takes no options/);
  });
});
