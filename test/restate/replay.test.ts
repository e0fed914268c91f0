/** One driver on Restate's host: a saga whose process dies goes on from the records, wherever it dies. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { saga } from "amends";
import { sagaWorkflows, type RestateSdk } from "amends/restate";
import { afterAll, describe, expect, it } from "vitest";
import { z } from "zod";
import type { AnySaga } from "../../src/index.ts";
import { inboxPlace, type Sent } from "../../src/restate/inbox.ts";
import type { Race, RunContext } from "../../src/restate/sdk.ts";
import { readStored, type StartOrder, type StoredSaga } from "../../src/restate/stored-saga.ts";
import type { SagaOutcome } from "../../src/sagas/view/outcome.ts";
import { until } from "../support/until.ts";
import { backwardStories } from "./support/backward.ts";
import { forwardStories } from "./support/forward.ts";
import { Attempt, Journal } from "./support/journal.ts";
import { Ledger } from "./support/ledger.ts";

const folder = mkdtempSync(path.join(tmpdir(), "amends-replay-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Workflow {
  readonly handlers: { run(context: RunContext, order: StartOrder): Promise<SagaOutcome> };
}

class Paused extends Error {}

/** The SDK, as far as a workflow that runs in memory needs it. */
function sdkOf(attempt: () => Attempt): RestateSdk<Workflow> {
  const race: Race = (promises) => attempt().race(promises);
  return {
    workflow: (definition) => definition,
    RestatePromise: { race: (promises) => race(promises) },
    TerminalError: Error,
    PauseError: Paused,
  };
}

const ORDER: StartOrder = { version: 1, input: "{}" };

interface Run {
  readonly outcome: unknown;
  /** Without the claims, which tell of the deaths. */
  readonly lines: readonly string[];
  readonly attempts: number;
  readonly journal: Journal;
}

/** Runs the saga to its end; the attempts die at these numbers of completions. */
async function run(made: AnySaga, deaths: readonly number[], journal: Journal): Promise<Run> {
  for (let attempts = 1; ; attempts++) {
    const attempt = new Attempt(journal, deaths[attempts - 1]);
    const [workflow] = sagaWorkflows(
      sdkOf(() => attempt),
      { sagas: [made], grace: "50ms" },
    ) as [Workflow];
    const outcome = await Promise.race([workflow.handlers.run(attempt.context, ORDER), attempt.died]);
    if (outcome === "died") continue;
    const stored = journal.state.get("saga") as StoredSaga;
    const entries = stored.entries.filter(({ step }) => !step.startsWith("$"));
    const lines = entries.map(({ step, action, status }) => `${step} ${action} ${status}`);
    return { outcome, lines, attempts, journal };
  }
}

const NAMES = [
  "completes",
  "tries-again",
  "acts-at-the-same-time",
  "acts-for-each",
  "acts-in-rounds",
  "chooses",
  "falls-back",
  "goes-forward-behind-its-pivot",
  "is-refused-and-undone",
  "fails-for-good",
  "uses-up-its-tries",
];

describe("a saga on Restate's journal, whose process dies at any record", () => {
  for (const name of NAMES) {
    it(`[R-01] comes to the same where it ${name.replaceAll("-", " ")}`, async () => {
      const ledgerOf = (what: string): Ledger => new Ledger(path.join(folder, `${name}-${what}.txt`));
      const storyOf = (ledger: Ledger) => ({ ...forwardStories(ledger), ...backwardStories(ledger) })[name];
      const alive = ledgerOf("alive");
      const expected = await run(storyOf(alive)?.saga as AnySaga, [], new Journal(name));
      const records = expected.journal.completed.length;
      expect(records).toBeGreaterThan(1);
      for (let at = 1; at < records; at++) {
        const ledger = ledgerOf(`dies-at-${at}`);
        const found = await run(storyOf(ledger)?.saga as AnySaga, [at], new Journal(name));
        expect(found.attempts).toBe(2);
        expect(found.outcome).toEqual(expected.outcome);
        const [did, usual] = [effectsOf(ledger, name), effectsOf(alive, name)];
        // What was in doubt is undone; otherwise nothing happens that would not happen without the death.
        const more = [...did].filter((effect) => !usual.has(effect));
        expect(more.filter((effect) => !effect.startsWith("undo "))).toEqual([]);
        expect([...usual].filter((effect) => !did.has(effect))).toEqual([]);
      }
    });
  }
});

/** What the steps did, whichever try it was. */
function effectsOf(ledger: Ledger, name: string): ReadonlySet<string> {
  return new Set(ledger.of(name).map((effect) => effect.replace(/ \d+$/, "")));
}

const nothing = z.object({});

describe("durable points on Restate", () => {
  it("[R-04] a saga of N steps has N + 1 records", async () => {
    const three = saga("three", nothing)
      .step("a", { act: () => 1 })
      .step("b", { act: () => 2 });
    const { journal } = await run(three.step("c", { act: () => 3 }), [], new Journal("one"));
    const runs = journal.commands.filter(({ kind }) => kind.startsWith("run "));
    expect(runs.map(({ kind }) => kind)).toEqual(["run $begin", "run a act 1", "run b act 1", "run c act 1"]);
  });

  it("[R-04] a first try whose preceding record was replayed is in doubt: it is undone even if it is refused", async () => {
    const log: string[] = [];
    const order = saga("order", nothing)
      .step("a", { act: () => "a" })
      .step("b", {
        act: ({ attempt }) => {
          log.push(`b ${attempt}`);
          throw new Error("busy");
        },
        compensate: ({ result }) => void log.push(`undo ${String(result)}`),
        retry: { attempts: 1 },
      });
    // The records are the beginning and the act of a: then the process dies while b is called.
    const { lines } = await run(order, [2], new Journal("one"));
    expect(log).toEqual(["b 2", "undo undefined"]);
    expect(lines).toEqual(["a act COMPLETED", "b act STARTED", "b act FAILED", "b compensate COMPLETED"]);
  });

  it("[R-04] a try after a wait is not in doubt, although Restate replays the saga then", async () => {
    const attempts: number[] = [];
    const order = saga("order", nothing)
      .sleep("night", "8h")
      .step("b", { act: ({ attempt }) => attempts.push(attempt) });
    const { journal } = await run(order, [], new Journal("one"));
    const died = await run(order, [journal.completed.length - 2], new Journal("two"));
    expect(died.attempts).toBe(2);
    expect(attempts).toEqual([1, 1]);
  });

  it("[R-04] instants and policies are those of the records, whatever the definition has become", async () => {
    const made = (attempts: number): AnySaga =>
      saga("order", nothing)
        .step("a", { act: () => "a", compensate: () => undefined })
        .step("b", {
          act: ({ attempt: n }) => {
            if (n < 3) throw new Error("busy");
          },
          retry: { attempts, base: "1h" },
        });
    const journal = new Journal("one");
    const attempt = new Attempt(journal, 4);
    const old = sagaWorkflows(
      sdkOf(() => attempt),
      { sagas: [made(3)] },
    ) as [Workflow];
    const first = old[0].handlers.run(attempt.context, ORDER);
    expect(await Promise.race([first, attempt.died])).toBe("died");
    // The first try is over. By the new policy it would have been the last one.
    const { outcome } = await run(made(1), [], journal);
    expect(outcome).toMatchObject({ status: "FAILED", step: "b" });
    expect(journal.commands.filter(({ kind }) => kind.startsWith("run b")).length).toBe(2);
  });

  it("[R-04] a saga whose definition no longer fits is paused, and not ended", async () => {
    const journal = new Journal("one");
    const before = saga("order", nothing)
      .step("a", { act: () => 1 })
      .step("b", { act: () => 2 });
    const attempt = new Attempt(journal, 2);
    const [served] = sagaWorkflows(
      sdkOf(() => attempt),
      { sagas: [before] },
    ) as [Workflow];
    await Promise.race([served.handlers.run(attempt.context, ORDER), attempt.died]);
    const other = saga("order", nothing).step("b", { act: () => 2 });
    await expect(run(other, [], journal)).rejects.toThrow(Paused);
    const elsewhere = saga("order", nothing, { version: 2 }).step("b", { act: () => 2 });
    await expect(run(elsewhere, [], journal)).rejects.toThrow("Version 1 of saga order is not served here");
    const { outcome } = await run(before, [], journal);
    expect(outcome).toMatchObject({ status: "COMPLETED", results: { a: 1, b: 2 } });
  });

  it("[R-04] a try waits for the call that an attempt which is over has begun in this process", async () => {
    const log: string[] = [];
    let pass: (() => void) | undefined;
    const order = saga("order", nothing)
      .parallel("both", (group) =>
        group.step("left", { act: () => "left" }).step("right", {
          act: async () => {
            log.push("begins");
            if (!pass) await new Promise<void>((resolve) => (pass = resolve));
            log.push("returns");
          },
        }),
      )
      .step("last", { act: () => "last" });
    // The process dies as far as Restate knows once `left` is recorded: `right` is under way then.
    const ended = run(order, [2], new Journal("one"));
    await until(() => pass !== undefined);
    await new Promise((resolve) => setImmediate(resolve));
    expect(log).toEqual(["begins"]);
    pass?.();
    expect((await ended).outcome).toMatchObject({ status: "COMPLETED" });
    expect(log).toEqual(["begins", "returns", "begins", "returns"]);
  });

  it("[R-05] an operator's order is decided on by the saga, and answered", async () => {
    const order = saga("order", nothing)
      .step("a", { act: () => "a", compensate: () => undefined })
      .sleep("night", "8h")
      .step("b", { act: () => "b" });
    const journal = new Journal("one");
    const cancel: Sent = { kind: "order", action: "cancel", note: { reason: "ticket 17" } };
    journal.resolve(inboxPlace(1), cancel);
    journal.resolve(inboxPlace(2), { ...cancel, action: "retry" });
    const { outcome } = await run(order, [], journal);
    expect(outcome).toMatchObject({ status: "FAILED", error: { kind: "cancelled" } });
    expect(journal.named("answer/1").value).toMatchObject({ ok: true });
    const stored = journal.state.get("saga") as StoredSaga;
    const [line] = stored.entries.filter(({ step }) => step === "$cancel");
    expect(line).toMatchObject({ byOperator: true });
    expect(readStored("one", "order", stored).state.status).toBe("FAILED");
  });
});
