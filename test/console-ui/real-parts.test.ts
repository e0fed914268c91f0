/** Further pages on the real console over a real database: a call that was given up, and sagas in the archive. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { Amends, saga, type DatabaseOptions } from "amends";
import { defineCall, type Calls } from "amends/calls";
import { createConsole, type ConsoleServer } from "amends/console";
import { sqlite, transaction, type SqliteHandle } from "amends/sqlite";
import { virtualClock } from "amends/testing";
import { expect, it } from "vitest";
import { z } from "zod";
import { seriousFindings } from "./support/accessibility.ts";
import { builtConsole } from "../support/built.ts";
import { inBrowser, settled } from "./support/stage.ts";

async function withConsole(
  options: Omit<DatabaseOptions<SqliteHandle>, "database">,
  work: (
    amends: Amends<SqliteHandle>,
    clock: ReturnType<typeof virtualClock>,
    invite: () => Promise<string>,
  ) => Promise<void>,
): Promise<void> {
  const folder = mkdtempSync(path.join(tmpdir(), "amends-parts-"));
  const clock = virtualClock();
  const amends = new Amends({ ...options, database: sqlite(path.join(folder, "shop.db"), { clock }) });
  await amends.migrate();
  const servers: ConsoleServer[] = [];
  // An invitation is good for a few minutes only: it is made when it is wanted.
  const invite = async (): Promise<string> => {
    const server = await createConsole(amends, { assets: await builtConsole() }).listen({ port: 0 });
    servers.push(server);
    return server.signInUrl;
  };
  try {
    await work(amends, clock, invite);
  } finally {
    for (const server of servers) await server.close();
    await amends.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

inBrowser("calls and the archive on the real console", (stage) => {
  it("[P-02] a call that was given up is requeued from the attention list, with a reason, on record", async () => {
    let isBack = false;
    const made: string[] = [];
    const mail = defineCall("send-mail", {
      schema: z.object({ to: z.string() }),
      retry: { attempts: 1 },
      handle: ({ to }) => {
        if (!isBack) throw new RangeError("down");
        made.push(to);
      },
    });
    const enqueue = saga("enqueue", z.object({})).step("send", {
      transaction,
      act: async ({ tx }) => void (await enqueuer?.enqueue(mail, { to: "ann" }, { tx })),
    });
    let enqueuer: Calls<SqliteHandle> | undefined;
    await withConsole({ sagas: [enqueue], calls: [mail] }, async (amends, _clock, invite) => {
      const { calls } = amends;
      enqueuer = calls;
      await amends.start(enqueue, {}, { id: "e-1" });
      await amends.worker().runOnce();
      await calls.runOnce();
      const { page, troubles } = await stage.tab();
      await page.goto(await invite());
      await settled(page);
      await page.locator(".rail-link[data-section=attention]").click();
      const given = page.locator('.attention-card[data-kind="abandoned-call"]');
      await given.getByText("the call send-mail was abandoned: RangeError").waitFor();
      expect(await seriousFindings(page)).toEqual([]);
      isBack = true;
      await given.locator('[data-action="requeue"]').click();
      await page.getByLabel("Reason").fill("the mail server is back");
      await page.locator("dialog[open] button[type=submit]").click();
      await given.waitFor({ state: "detached" });
      await calls.runOnce();
      expect(made).toEqual(["ann"]);
      await page.locator(".rail-link[data-section=audit]").click();
      await page.getByText("the mail server is back").waitFor();
      expect(troubles).toEqual([]);
      await page.close();
    });
  });

  it("[P-06] an archived saga is found by its id, is marked, and shows what happened", async () => {
    const order = saga("place-order", z.object({})).step("ship", { act: () => "sent" });
    const retention = { sagas: { completed: "1d", archive: true } } as const;
    await withConsole({ sagas: [order], retention }, async (amends, clock, invite) => {
      await amends.start(order, {}, { id: "old-1" });
      await amends.worker().runOnce();
      await clock.advance(2 * 86_400_000);
      await amends.start(order, {}, { id: "new-1" });
      await amends.worker().runOnce();
      await amends.retention.runOnce();
      expect(await amends.inspect("old-1")).toBeUndefined();
      const { page, troubles } = await stage.tab();
      await page.goto(await invite());
      await settled(page);
      await page.locator(".rail-link[data-section=sagas]").click();
      await page.locator("tbody tr", { hasText: "new-1" }).waitFor();
      expect(await page.locator("tbody tr", { hasText: "new-1" }).innerText()).not.toContain("archived");
      await page.getByRole("searchbox").fill("old-1");
      const row = page.locator("tbody tr", { hasText: "old-1" });
      await row.getByText("archived").waitFor();
      expect(await seriousFindings(page)).toEqual([]);
      await row.locator("a.row-link").click();
      await page.locator("h1 .state", { hasText: "Completed" }).waitFor();
      expect(await page.locator('[data-node="act:ship"]').getAttribute("data-state")).toBe("done");
      expect(troubles).toEqual([]);
      await page.close();
    });
  });
});
