/** What Restate cannot keep is refused when it is served, before any saga starts. */
import { readFileSync } from "node:fs";
import path from "node:path";
import { AmendsError, saga } from "amends";
import { defineCall } from "amends/calls";
import { event } from "amends/events";
import { RestateSagas, sagaWorkflows, type RestateSdk } from "amends/restate";
import { transaction } from "amends/sqlite";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { AnySaga } from "../../src/index.ts";
import { root } from "../../tools/project.mjs";

const nothing = z.object({});
const paid = event("Paid", z.object({ order: z.string() }));
const mail = defineCall("mail", { schema: nothing, handle: () => undefined });
const ship = saga("ship", nothing).step("pack", { act: () => "box" });
const wait = { event: paid, where: "order", equals: () => "1" } as const;

const REFUSED: Readonly<Record<string, AnySaga>> = {
  "a transactional step": saga("s", nothing).step("a", { transaction, act: () => undefined }),
  "a wait for an event": saga("s", nothing).waitFor("paid", wait),
  "an event among several waits": saga("s", nothing).waitFor("first", { any: { paid: wait, late: "1h" } }),
  "rounds until an event": saga("s", nothing).repeat("ask", {
    act: () => undefined,
    until: wait,
    every: "1h",
    max: 3,
  }),
  "a child saga": saga("s", nothing).saga("child", ship, { input: () => ({}) }),
  "a call at its end": saga("s", nothing)
    .step("a", { act: () => 1 })
    .onCompleted({ call: mail, input: () => ({}) }),
  "a call where it stalls": saga("s", nothing)
    .step("a", { act: () => 1 })
    .onStalled({ call: mail, input: () => ({}) }),
  "limits by key": saga("s", nothing, { concurrency: { key: () => "one", limit: 1 } }).step("a", {
    act: () => 1,
  }),
};

const sdk: RestateSdk<unknown> = {
  workflow: (definition) => definition,
  RestatePromise: { race: () => Promise.resolve() },
  TerminalError: Error,
  PauseError: Error,
};

describe("what does not run on Restate", () => {
  it("[R-07] the guide's table of refused definitions is the one that is tested", () => {
    const guide = readFileSync(path.join(root, "docs", "guides", "restate.md"), "utf8");
    const [, table = ""] = /^\| Refused \|.*\n\|---.*\n((?:\|.*\n)+)/m.exec(guide) ?? [];
    const rows = table.trim().split("\n");
    expect(rows.map((row) => row.split(" | ")[0]?.slice(2))).toEqual(Object.keys(REFUSED));
  });

  for (const [what, made] of Object.entries(REFUSED)) {
    it(`[R-04] ${what} is refused when it is served`, () => {
      const serve = (): unknown => sagaWorkflows(sdk, { sagas: [made] });
      expect(serve).toThrow(AmendsError);
      expect(serve).toThrow("does not run on Restate");
    });
  }

  it("[R-04] unknown options are refused", async () => {
    expect(() => sagaWorkflows(sdk, { sagas: [ship], lease: "1m" } as never)).toThrow(
      "no option named lease",
    );
    expect(() => new RestateSagas({ url: "http://localhost" } as never)).toThrow("no option named url");
    const sagas = new RestateSagas({ ingress: "http://127.0.0.1:1" });
    await expect(sagas.start(ship, {}, { delay: "1h" } as never)).rejects.toThrow("no option named delay");
    await expect(sagas.start(ship, {}, { id: "" })).rejects.toMatchObject({ code: "BAD_ID" });
    await expect(sagas.list(ship, { status: "STALLED" })).rejects.toMatchObject({ code: "NOT_CONFIGURED" });
    await expect(sagas.list(ship, { status: "'; drop" as never })).rejects.toMatchObject({
      code: "BAD_OPTION",
    });
  });
});
