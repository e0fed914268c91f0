/** What a console and a command line show of the progress of a call: numbers as they are, texts only when revealed. */
import { saga } from "amends";
import { expect, it } from "vitest";
import { z } from "zod";
import type { Revealed, SagaDetail } from "../../src/console/contract.ts";
import { sagaVersions } from "../../src/sagas/read/changes.ts";
import { cli, json } from "../cli/support/cli.ts";
import { onEachDatabase, virtualClock } from "../support/databases.ts";
import { visit } from "./support/visit.ts";

onEachDatabase((database) => {
  it("[S-45][X-01] the page of a saga shows the numbers of its progress; texts are masked until they are revealed", async () => {
    const clock = virtualClock();
    const copy = saga("copy", z.object({}), { retry: { attempts: 3, base: "1h" } }).step("files", {
      act: ({ progress }) => {
        progress({ done: 12, total: 40, isQuick: true, last: "ann.csv", sizes: [1, "big"] });
        throw new Error("not now");
      },
    });
    const amends = await database.amends({ sagas: [copy], clock });
    await amends.start(copy, {}, { id: "one" });
    await amends.worker().runOnce();
    const { get, post } = visit(amends);
    const { progress } = await get<SagaDetail>("reader", "/api/sagas/one");
    expect(progress).toEqual([
      {
        step: "files",
        action: "act",
        at: new Date(clock.virtualNowMs()).toISOString(),
        value: {
          masked: true,
          shape: { done: 12, total: 40, isQuick: true, last: "text", sizes: [1, "text"] },
        },
      },
    ]);
    const { fields } = await post<Revealed>("revealer", "/api/reveal", {
      kind: "saga",
      id: "one",
      reason: "ticket 1",
    });
    expect(fields["progress"]).toEqual({
      "act files": { done: 12, total: 40, isQuick: true, last: "ann.csv", sizes: [1, "big"] },
    });
  });

  it("[S-45][P-03] `amends show` says how far a call has come", async () => {
    const copy = saga("copy", z.object({}), { retry: { attempts: 3, base: "1h" } }).step("files", {
      act: ({ progress }) => {
        progress({ done: 12, last: "ann.csv" });
        throw new Error("not now");
      },
    });
    const amends = await database.amends({ sagas: [copy] });
    await amends.start(copy, {}, { id: "one" });
    await amends.worker().runOnce();
    const at = ["--database", await database.place()];
    expect((await cli(["show", "one", ...at])).out).toMatch(
      /reported +files: \{ done: 12, last: text \} \((?:now|.* ago)\)/,
    );
    expect(await json<SagaDetail>(["show", "one", ...at])).toMatchObject({
      progress: [{ step: "files", value: { shape: { done: 12, last: "text" } } }],
    });
  });

  it("[S-45][P-04] a page that follows a saga learns of each report that was stored", async () => {
    const clock = virtualClock();
    const copy = saga("copy", z.object({}), { retry: { attempts: 3, base: "1h", cap: "1h" } }).step("files", {
      act: ({ progress, attempt }) => {
        progress({ attempt, same: "x".repeat(100) });
        throw new Error("not now");
      },
    });
    const amends = await database.amends({ sagas: [copy], clock });
    await amends.start(copy, {}, { id: "one" });
    const db = await database.open();
    const sign = async (): Promise<string | undefined> => (await sagaVersions(db, ["one"]))[0]?.reported;
    const signs = [];
    for (let turn = 0; turn < 2; turn++) {
      await amends.worker().runOnce();
      signs.push(await sign());
      clock.jump(3_600_001);
    }
    expect(signs.map((found) => typeof found)).toEqual(["string", "string"]);
    expect(signs[0]).not.toBe(signs[1]);
  });
});
