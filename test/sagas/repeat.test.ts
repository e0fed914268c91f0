import { err, saga, signal, Terminal } from "amends";
import { event } from "amends/events";
import { virtualClock } from "amends/testing";
import { expect, it } from "vitest";
import { z } from "zod";
import { onEachDatabase } from "../support/databases.ts";
import { checkInvariantsAfterEach } from "./support/check-invariants.ts";
import { gate } from "./support/gate.ts";
import { onlooker } from "./support/look.ts";
import { LEASE_MS } from "./support/pair.ts";

const nothing = z.object({});
const HOUR_MS = 3_600_000;
const paid = signal("paid", z.object({ cents: z.number() }));
const Paid = event("Paid", z.object({ order: z.string(), cents: z.number() }));

onEachDatabase((database) => {
  checkInvariantsAfterEach(database);

  it("[S-35] acts once a round until its question is answered with yes, and holds no slot in between", async () => {
    const clock = virtualClock();
    const log: string[] = [];
    const poll = saga("poll", nothing)
      .repeat("look", {
        act: ({ round, attempt, key }) => (log.push(`${round} ${attempt} ${key}`), { ready: round === 3 }),
        until: ({ result, round }) => result.ready && round === 3,
        every: "1h",
        max: 5,
      })
      .step("last", { act: ({ results }) => results.look });
    const amends = await database.amends({ sagas: [poll], clock });
    const look = await onlooker(database);
    const run = await amends.start(poll, {}, { id: "p" });
    for (let round = 1; round <= 3; round++) {
      await amends.worker().runOnce();
      expect(log).toHaveLength(round);
      expect(await look.row("p")).toMatchObject({ owner: null, status: round < 3 ? "RUNNING" : "COMPLETED" });
      clock.jump(HOUR_MS - 1);
      expect(await amends.worker().runOnce()).toBe(0);
      clock.jump(2);
    }
    const done = { done: true, rounds: 3, result: { ready: true } };
    expect(await run.result()).toMatchObject({ status: "COMPLETED", results: { look: done, last: done } });
    expect(log).toEqual([1, 2, 3].map((round) => `${round} 1 p:look[${round}]:act`));
  });

  it("[S-35] after its last round the saga goes on with `done: false`, or fails if it was asked to", async () => {
    const clock = virtualClock();
    const undone: unknown[] = [];
    const make = (onMax: "continue" | "fail") =>
      saga(`poll-${onMax}`, nothing).repeat("look", {
        act: ({ round }) => round * 10,
        until: () => false,
        every: "1h",
        max: 2,
        onMax,
        compensate: ({ rounds, result, actKey, key }) =>
          void undone.push([rounds, result, actKey(1), actKey(2), key]),
      });
    const [goesOn, fails] = [make("continue"), make("fail")];
    const amends = await database.amends({ sagas: [goesOn, fails], clock });
    const one = await amends.start(goesOn, {});
    const two = await amends.start(fails, {}, { id: "f" });
    await amends.worker().runOnce();
    clock.jump(HOUR_MS + 1);
    await amends.worker().runOnce();
    const results = { look: { done: false, rounds: 2, result: 20 } };
    expect(await one.result()).toMatchObject({ status: "COMPLETED", results });
    const error = { kind: "exhausted", label: "RoundsExhausted" };
    expect(await two.result()).toMatchObject({ status: "FAILED", step: "look", error });
    expect(undone).toEqual([[2, 20, "f:look[1]:act", "f:look[2]:act", "f:look:undo"]]);
  });

  it("[S-35] a signal ends the wait at once, also one that came before the first round", async () => {
    const clock = virtualClock();
    const log: number[] = [];
    const remind = saga("remind", nothing).repeat("remind", {
      act: ({ round }) => log.push(round),
      until: { signal: paid },
      delay: "1h",
      every: "1h",
      max: 3,
    });
    const amends = await database.amends({ sagas: [remind], clock });
    for (const id of ["late", "early", "never"]) await amends.start(remind, {}, { id });
    const outcome = async (id: string): Promise<unknown> => (await amends.inspect(id))?.results["remind"];
    await amends.signal("early", paid, { cents: 1 });
    await amends.worker().runOnce();
    expect(log).toEqual([]);
    expect(await outcome("early")).toEqual({ done: true, rounds: 0, received: { cents: 1 } });
    clock.jump(HOUR_MS + 1);
    await amends.worker().runOnce();
    expect(log).toEqual([1, 1]);
    await amends.signal("late", paid, { cents: 2 });
    await amends.worker().runOnce();
    expect(await outcome("late")).toMatchObject({ done: true, rounds: 1, received: { cents: 2 } });
    // After the last round the signal is waited for once more.
    for (let hour = 0; hour < 3; hour++) {
      expect((await amends.inspect("never"))?.status).toBe("RUNNING");
      clock.jump(HOUR_MS + 1);
      await amends.worker().runOnce();
    }
    expect(await outcome("never")).toMatchObject({ done: false, rounds: 3 });
  });

  it("[S-35] an event ends the wait at once", async () => {
    const remind = saga("remind", z.object({ order: z.string() })).repeat("remind", {
      act: () => "sent",
      until: { event: Paid, where: "order", equals: ({ input }) => input.order },
      every: "1d",
      max: 3,
    });
    const amends = await database.amends({ sagas: [remind], events: [] });
    await database.worker(amends);
    const run = await amends.start(remind, { order: "o-7" });
    await expect.poll(async () => (await amends.inspect(run.id))?.waiting?.step).toBe("remind");
    await amends.events.publish(Paid({ order: "o-8", cents: 1 }));
    await amends.events.publish(Paid({ order: "o-7", cents: 2 }));
    const done = { done: true, rounds: 1, result: "sent", received: { order: "o-7", cents: 2 } };
    expect(await run.result()).toMatchObject({ status: "COMPLETED", results: { remind: done } });
  });

  it("[S-35] a round that throws is tried again under the key of the round; the next round has new tries", async () => {
    const clock = virtualClock();
    const log: string[] = [];
    const poll = saga("poll", nothing, { retry: { attempts: 2, base: "1m" } }).repeat("look", {
      act: ({ round, attempt, key }) => {
        log.push(`${round} ${attempt} ${key}`);
        if (attempt === 1) throw new Error("down");
        return round;
      },
      until: ({ round }) => round === 2,
      every: "1h",
      max: 5,
    });
    const amends = await database.amends({ sagas: [poll], clock });
    const run = await amends.start(poll, {}, { id: "p" });
    for (const ms of [60_001, HOUR_MS + 1, 60_001, 0]) {
      await amends.worker().runOnce();
      clock.jump(ms);
    }
    expect(await run.result()).toMatchObject({ results: { look: { done: true, rounds: 2, result: 2 } } });
    const line = (round: number, attempt: number): string => `${round} ${attempt} p:look[${round}]:act`;
    expect(log).toEqual([line(1, 1), line(1, 2), line(2, 1), line(2, 2)]);
  });

  it("[S-35][S-11] turning back, its one undo gets the count, the last result and the keys, the doubtful round included", async () => {
    const held = gate();
    const undone: unknown[] = [];
    const make = (who: string) =>
      saga("poll", nothing).repeat("look", {
        act: ({ round }) => (who === "first" && round === 2 ? held.pass() : round * 10),
        until: () => false,
        every: "1ms",
        max: 9,
        compensate: ({ rounds, result, actKey }) => void undone.push([rounds, result, actKey(rounds)]),
      });
    const [firstClock, secondClock] = [virtualClock(), virtualClock()];
    const first = await database.amends({ sagas: [make("first")], clock: firstClock });
    const second = await database.amends({ sagas: [make("second")], clock: secondClock });
    await database.worker(first);
    await first.start(make("first"), {}, { id: "p" });
    let isHeld = false;
    void held.reached.then(() => (isHeld = true));
    while (!isHeld) await firstClock.advance(2);
    secondClock.jump(LEASE_MS + 10);
    await second.cancel("p", { reason: "enough" });
    await second.worker().runOnce();
    expect((await second.inspect("p"))?.status).toBe("FAILED");
    expect(undone).toEqual([[2, 10, "p:look[2]:act"]]);
    held.open();
  });

  it("[S-35] an err and a permanent error fail the step; what earlier rounds did is undone", async () => {
    const undone: number[] = [];
    const make = (name: string, act: (round: number) => unknown) =>
      saga(name, nothing).repeat("look", {
        act: ({ round }) => act(round),
        until: () => false,
        every: "1ms",
        max: 5,
        compensate: ({ rounds }) => void undone.push(rounds),
      });
    const sagas = [
      make("err-second", (round) => (round === 2 ? err("no") : round)),
      make("terminal-second", (round) => {
        if (round === 2) throw new Terminal("Broken");
        return round;
      }),
      make("err-first", () => err("no")),
    ];
    const amends = await database.amends({ sagas });
    await database.worker(amends);
    for (const one of sagas)
      expect(await (await amends.start(one, {})).result()).toMatchObject({ status: "FAILED" });
    expect(undone).toEqual([2, 2]);
  });

  it("[S-35] a step that ended before its first round has nothing to undo", async () => {
    const clock = virtualClock();
    let undone = 0;
    const remind = saga("remind", nothing)
      .repeat("remind", {
        act: () => 1,
        until: { signal: paid },
        delay: "1h",
        every: "1h",
        max: 3,
        compensate: () => ++undone,
      })
      .step("last", { act: () => err("no") });
    const amends = await database.amends({ sagas: [remind], clock });
    const run = await amends.start(remind, {}, { id: "r" });
    await amends.signal("r", paid, { cents: 1 });
    await amends.worker().runOnce();
    expect(await run.result()).toMatchObject({ status: "FAILED" });
    expect(undone).toBe(0);
  });

  it("[S-35] a signal that arrives during a round ends the step after it", async () => {
    const held = gate();
    let rounds = 0;
    const remind = saga("remind", nothing).repeat("remind", {
      act: () => (++rounds, held.pass()),
      until: { signal: paid },
      every: "1h",
      max: 3,
    });
    const amends = await database.amends({ sagas: [remind] });
    await database.worker(amends);
    const run = await amends.start(remind, {}, { id: "r" });
    await held.reached;
    await amends.signal("r", paid, { cents: 1 });
    held.open();
    expect(await run.result()).toMatchObject({ results: { remind: { done: true, rounds: 1 } } });
    expect(rounds).toBe(1);
  });
});
