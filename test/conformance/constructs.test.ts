/** What a storage of one's own runs and refuses: each row of the tables of the guide is tried. */
import { deepEqual, equal } from "node:assert/strict";
import { readFileSync } from "node:fs";
import { Amends, AmendsError, err, saga, sagaRef, signal, type SagaDefinition } from "amends";
import { defineCall } from "amends/calls";
import { event } from "amends/events";
import { transaction } from "amends/sqlite";
import type { SagaStorage } from "amends/storage";
import { virtualClock } from "amends/testing";
import { expect, it } from "vitest";
import { z } from "zod";
import { root } from "../../tools/project.mjs";
import { onEachStorage } from "./engine-storages.ts";

const nothing = z.object({});
const go = signal("go", nothing);
const Paid = event("Paid", z.object({ order: z.string() }));
const mail = defineCall("mail", { schema: nothing, handle: () => undefined });
const made = () => saga("made", nothing);
const quiet = { act: () => 1, compensate: () => undefined };
const plain = made().step("one", quiet);
const note = { reason: "test" };
const inTransaction = { transaction, act: () => undefined };
const byCall = { call: mail, input: () => ({}) };

/** "works", or the code of the error. */
type Try = (storage: SagaStorage) => Promise<string>;

/** What this is refused with: a promise that is kept is one that works. */
async function attempt(work: () => unknown): Promise<string> {
  try {
    await work();
    return "works";
  } catch (error) {
    if (error instanceof AmendsError) return error.code;
    throw error;
  }
}

function amendsOn(storage: SagaStorage, definition: SagaDefinition, clock = virtualClock()): Amends {
  return new Amends({ storage, sagas: [definition], clock });
}

/** Runs the saga to its end. */
const runs =
  (definition: SagaDefinition, end: "COMPLETED" | "FAILED" = "COMPLETED"): Try =>
  (storage) =>
    attempt(async () => {
      const clock = virtualClock();
      const amends = amendsOn(storage, definition, clock);
      const run = await amends.start(definition, {});
      for (let looks = 0; looks < 20 && !["COMPLETED", "FAILED"].includes(await run.status()); looks++) {
        await amends.worker().runOnce();
        clock.jump(3_600_000);
      }
      const outcome = await run.result();
      if (outcome.status === "FAILED" && outcome.error.label === "NOT_SUPPORTED")
        throw new AmendsError("NOT_SUPPORTED", "the step says so");
      equal(outcome.status, end);
    });

/** Tries something with an Amends that knows the plain saga. */
const calls =
  (work: (amends: Amends) => unknown): Try =>
  (storage) =>
    attempt(() => work(amendsOn(storage, plain)));

const failing = {
  act: () => {
    throw new Error("not now");
  },
  retry: { attempts: 1 },
};

const TRIES: Readonly<Record<string, readonly Try[]>> = {
  "`.step`, `.pivot`": [
    runs(made().step("one", quiet).pivot("two", quiet)),
    runs(
      made()
        .step("one", quiet)
        .step("two", { act: () => err("no") }),
      "FAILED",
    ),
  ],
  "`fallback` of a step": [runs(made().step("one", { ...failing, fallback: { name: "other", ...quiet } }))],
  "`.parallel`": [runs(made().parallel("group", (group) => group.step("a", quiet).step("b", quiet)))],
  "`.each`": [
    runs(made().each("items", { over: () => [1, 2, 3], key: String, ...quiet })),
    runs(
      made()
        .each("items", { over: () => [1, 2, 3], key: String, ...quiet })
        .step("last", { act: () => err("no") }),
      "FAILED",
    ),
  ],
  "`.when`": [
    runs(
      made().when(
        "choice",
        () => false,
        (yes) => yes.step("a", quiet),
        (no) => no.step("b", quiet),
      ),
    ),
  ],
  "`.repeat` until a function": [
    runs(made().repeat("rounds", { ...quiet, until: ({ round }) => round === 2, every: "1m", max: 3 })),
  ],
  "`.repeat` until a signal or an event": [
    runs(made().repeat("rounds", { ...quiet, until: { signal: go }, every: "1m", max: 3 })),
    runs(
      made().repeat("rounds", {
        ...quiet,
        until: { event: Paid, where: "order", equals: () => "1" },
        every: "1m",
        max: 3,
      }),
    ),
  ],
  "`.sleep`": [runs(made().sleep("nap", "1h"))],
  "`.waitFor` a signal or an event": [
    runs(made().waitFor("wait", { signal: go, timeout: "1h", onTimeout: "continue" })),
    runs(made().waitFor("wait", { event: Paid, where: "order", equals: () => "1" })),
  ],
  "`.waitFor` the first of several": [
    runs(made().waitFor("wait", { any: { go: { signal: go }, late: "1h" } })),
    runs(made().waitFor("wait", { any: { soon: "1m", late: "1h" } })),
  ],
  "`.saga`": [runs(made().saga("child", saga("child", nothing).step("one", quiet), { input: () => ({}) }))],
  "`transaction` of a step": [runs(made().step("one", inTransaction))],
  "`.onCompleted`, `.onFailed` in a transaction": [
    runs(plain.onCompleted(inTransaction)),
    runs(plain.onFailed(inTransaction)),
  ],
  "`.onCompleted`, `.onFailed` with a call": [runs(plain.onCompleted(byCall)), runs(plain.onFailed(byCall))],
  "`.onStalled`": [runs(plain.onStalled(byCall))],
  "`emit` in a step": [runs(made().step("one", { act: ({ emit }) => emit({ type: "done" }) }), "FAILED")],
  "`progress` in a step": [runs(made().step("one", { act: ({ progress }) => progress(1) }))],
  "`delay` and `runAt` of a start": [
    calls((amends) => amends.start(plain, {}, { delay: "1h" })),
    calls((amends) => amends.start(plain, {}, { runAt: new Date("2040-01-01T00:00:00Z") })),
  ],
  "`priority` and `attributes` of a start": [
    calls((amends) => amends.start(plain, {}, { priority: 1 })),
    calls((amends) => amends.start(plain, {}, { attributes: { tenant: "acme" } })),
  ],
  "`tx` of a start": [calls((amends) => amends.start(plain, {}, { tx: {} }))],
  "`concurrency` and `rate` of a saga": [
    runs(saga("made", nothing, { concurrency: { key: () => "k", limit: 1 } }).step("one", quiet)),
    runs(saga("made", nothing, { rate: { key: () => "k", limit: 1, per: "1m" } }).step("one", quiet)),
  ],
  "`amends.startMany`": [calls((amends) => amends.startMany(plain, [{ input: {} }]))],
  "`amends.start` of a reference": [calls((amends) => amends.start(sagaRef("far", nothing), {}))],
  "`run.stream()`, `run.result()` and `amends.inspect`": [
    calls(async (amends) => {
      const run = await amends.start(plain, {}, { id: "one" });
      const names: string[] = [];
      const reading = (async () => {
        for await (const { name } of run.stream()) names.push(name);
      })();
      await amends.worker().runOnce();
      await reading;
      deepEqual(names, ["one"]);
      equal((await run.result()).status, "COMPLETED");
      equal((await amends.inspect("one"))?.status, "COMPLETED");
    }),
  ],
  "`amends.cancel`, `retry`, `skip` and `resolve`": [
    calls(async (amends) => {
      await amends.start(plain, {}, { id: "one", delay: "1h" });
      await amends.cancel("one", note);
      equal((await amends.inspect("one"))?.status, "FAILED");
    }),
    ...(["retry", "skip", "resolve"] as const).map(
      (action): Try =>
        (storage) =>
          attempt(async () => {
            let isBroken = true;
            const stuck = made()
              .step("one", {
                act: () => 1,
                compensate: () => {
                  if (isBroken) throw new Error("not now");
                },
                compensateRetry: { attempts: 1 },
              })
              .step("two", { act: () => err("no") });
            const amends = amendsOn(storage, stuck);
            await amends.start(stuck, {}, { id: "one" });
            await amends.worker().runOnce();
            equal((await amends.inspect("one"))?.status, "STALLED");
            isBroken = false;
            if (action === "retry") await amends.retry("one", note);
            else if (action === "skip") await amends.skip("one", "one", note);
            else await amends.resolve("one", "FAILED", note);
            await amends.worker().runOnce();
            equal((await amends.inspect("one"))?.status, "FAILED");
          }),
    ),
  ],
  "`amends.reverse`": [
    calls(async (amends) => {
      await amends.start(plain, {}, { id: "one" });
      await amends.worker().runOnce();
      await amends.reverse("one", note);
    }),
  ],
  "`amends.onEnd`": [
    calls(async (amends) => {
      const ends: string[] = [];
      amends.onEnd(({ status }) => ends.push(status));
      await amends.start(plain, {});
      await amends.worker().runOnce();
      deepEqual(ends, ["COMPLETED"]);
    }),
  ],
  "`amends.signal`": [calls((amends) => amends.signal("one", go, {}))],
  "`amends.schedules`": [calls((amends) => amends.schedules)],
  "`amends.list`, `amends.count` and `amends.attention.list`": [
    calls((amends) => amends.list()),
    calls((amends) => amends.count()),
    calls((amends) => amends.attention.list()),
  ],
  "`amends.pause` and `amends.resume`": [
    calls((amends) => amends.pause({ saga: plain }, note)),
    calls((amends) => amends.resume({ saga: plain }, note)),
  ],
  "`amends.bulk`": [
    calls((amends) => amends.bulk.start({ action: "retry", status: "STALLED", reason: "test" })),
  ],
  "another part, such as webhooks": [
    (storage) => attempt(() => new Amends({ storage, sagas: [plain], webhooks: {} } as never)),
    (storage) => attempt(() => new Amends({ storage, sagas: [plain] }).webhooks),
  ],
};

/** The rows of the guide: what, and what comes of it. */
function rows(): readonly (readonly [what: string, result: string])[] {
  const guide = readFileSync(`${root}/docs/guides/own-storage.md`, "utf8");
  const part = guide.slice(guide.indexOf("## What works on such a storage"));
  return part
    .split("\n")
    .filter((line) => line.startsWith("| ") && !/^\| (In|Of) a saga \|/.test(line))
    .map((line) => line.split("|").map((cell) => cell.trim()))
    .map(([, what = "", result = ""]) => [what, result.replaceAll("`", "")] as const);
}

it("[S-02] the guide says of each construct whether a storage of one's own runs it, and each row is tried", () => {
  expect(rows().map(([what]) => what)).toEqual(Object.keys(TRIES));
});

onEachStorage(({ storage }) => {
  for (const [what, result] of rows())
    for (const [number, tried] of (TRIES[what] ?? []).entries())
      it(`[S-02] ${what} (${number + 1}): ${result}`, async () => {
        expect(await tried(await storage())).toBe(result);
      });
});
