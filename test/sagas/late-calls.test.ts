/** Acts and undos that do not listen to their signal: what they answer counts as long as it can, and nothing runs beside them. */
import { err, saga, Terminal, type Amends } from "amends";
import { virtualClock, type VirtualClock } from "amends/testing";
import { expect, it } from "vitest";
import { z } from "zod";
import { faulty, withCode } from "../storage/support/faults.ts";
import { raw } from "../../src/storage/sql.ts";
import { onEachDatabase, type TestDatabase } from "../support/databases.ts";
import { checkInvariantsAfterEach } from "./support/check-invariants.ts";
import { effect, effects, makeEffects, transactionOn, write } from "./support/effects-table.ts";
import { gate, type Gate } from "./support/gate.ts";
import { onlooker } from "./support/look.ts";
import { LEASE_MS } from "./support/pair.ts";

const nothing = z.object({});
const GRACE_MS = 10_000;

interface Story {
  readonly calls: string[];
  /** The first call of `charge` is held here, whatever its signal says. */
  readonly held: Gate<unknown>;
}

function story(): Story {
  return { calls: [], held: gate<unknown>() };
}

/** Reserves, then charges; the first charge does not listen. */
function chargeSaga({ calls, held }: Story, limits: { timeout?: "5s"; deadline?: "5s" }, attempts: number) {
  return saga("charge", nothing)
    .step("reserve", { act: () => "r-1", compensate: () => void calls.push("undo reserve") })
    .step("charge", {
      ...limits,
      retry: { attempts, base: "20s" },
      act: ({ attempt }) => {
        calls.push(`act ${attempt}`);
        return attempt === 1 ? held.pass() : `charge ${attempt}`;
      },
      compensate: ({ result }) => void calls.push(`undo charge ${String(result)}`),
    });
}

async function begin(
  database: TestDatabase,
  told: Story,
  limits: { timeout?: "5s"; deadline?: "5s" },
  attempts: number,
): Promise<{ amends: Amends; clock: VirtualClock }> {
  const clock = virtualClock();
  const definition = chargeSaga(told, limits, attempts);
  // `until` moves time by a second at each look: a busy database could not renew a lease of a minute meanwhile.
  const amends = await database.amends({ sagas: [definition], clock, lease: "5m" });
  await database.worker(amends);
  await amends.start(definition, {}, { id: "one" });
  await told.held.reached;
  return { amends, clock };
}

/** Moves time on until the saga is like this. */
async function until(amends: Amends, clock: VirtualClock, status: string, id = "one"): Promise<void> {
  await expect
    .poll(
      async () => {
        await clock.advance(1_000);
        return (await amends.inspect(id))?.status;
      },
      { timeout: 20_000 },
    )
    .toBe(status);
}

onEachDatabase((database) => {
  checkInvariantsAfterEach(database);

  it("[S-21] a success after the try's timeout, within the grace period, is used", async () => {
    const told = story();
    const { amends, clock } = await begin(database, told, { timeout: "5s" }, 3);
    await clock.advance(5_000 + GRACE_MS - 1);
    told.held.open("late");
    await until(amends, clock, "COMPLETED");
    expect((await amends.inspect("one"))?.results).toMatchObject({ charge: "late" });
    expect(told.calls).toEqual(["act 1"]);
  });

  it("[S-21] a success after the deadline turns the saga back, and the undo gets the result", async () => {
    const told = story();
    const { amends, clock } = await begin(database, told, { deadline: "5s" }, 3);
    await clock.advance(5_000);
    told.held.open("late");
    await until(amends, clock, "FAILED");
    expect((await amends.inspect("one"))?.error).toMatchObject({ kind: "deadline" });
    expect(told.calls).toEqual(["act 1", "undo charge late", "undo reserve"]);
  });

  it("[S-21] so does a success after the saga's own deadline, in a group as well", async () => {
    const clock = virtualClock();
    const held = gate<string>();
    const undone: string[] = [];
    const late = saga("late", nothing, { deadline: "5s" }).parallel("both", (group) =>
      group.step("quick", { act: () => 1, compensate: () => void undone.push("quick") }).step("slow", {
        act: () => held.pass(),
        compensate: ({ result }) => void undone.push(`slow ${String(result)}`),
      }),
    );
    const amends = await database.amends({ sagas: [late], clock });
    await database.worker(amends);
    await amends.start(late, {}, { id: "one" });
    await held.reached;
    await clock.advance(5_000);
    held.open("done");
    await until(amends, clock, "FAILED");
    expect(undone.toSorted()).toEqual(["quick", "slow done"]);
  });

  it("[S-21][S-27] a transactional step that ends after its deadline is rolled back", async () => {
    const clock = virtualClock();
    const held = gate();
    const look = await onlooker(database);
    await look.db.query(raw("create table ledger (what text)"));
    const late = saga("late", nothing).step("book", {
      transaction: transactionOn(database.name),
      deadline: "5s",
      act: async ({ tx }) => {
        await write(tx, "insert into ledger values ('booked')");
        await held.pass();
      },
    });
    const amends = await database.amends({ sagas: [late], clock });
    await database.worker(amends);
    await amends.start(late, {}, { id: "one" });
    await held.reached;
    await clock.advance(5_000);
    held.open();
    await until(amends, clock, "FAILED");
    expect(await look.db.query(raw("select what from ledger"))).toEqual([]);
  });

  it("[S-21][S-12] a try that does not return is recorded as failed after its grace period, and tried again within its attempts", async () => {
    const told = story();
    const { amends, clock } = await begin(database, told, { timeout: "5s" }, 3);
    await until(amends, clock, "COMPLETED");
    expect((await amends.inspect("one"))?.results).toMatchObject({ charge: "charge 2" });
    expect(told.calls).toEqual(["act 1", "act 2"]);
    const notes = (await amends.inspect("one"))?.timeline.map(({ name, note }) => `${name} ${note ?? ""}`);
    expect(notes).toContain("charge TimedOut");
  });

  it("[S-21] a success of the earlier try that comes before the next one goes out is used", async () => {
    const told = story();
    const { amends, clock } = await begin(database, told, { timeout: "5s" }, 3);
    await clock.advance(5_000 + GRACE_MS + 1_000);
    told.held.open("at last");
    await until(amends, clock, "COMPLETED");
    expect((await amends.inspect("one"))?.results).toMatchObject({ charge: "at last" });
    expect(told.calls).toEqual(["act 1"]);
  });

  it.each([{ timeout: "5s" }, { deadline: "5s" }] as const)(
    "[S-12][S-14] while a call is known to run nothing is undone: the saga stalls and says so, and goes on when it returns (%j)",
    async (limits) => {
      const told = story();
      const { amends, clock } = await begin(database, told, limits, 1);
      const startedAt = clock.virtualNowMs();
      await until(amends, clock, "STALLED");
      // However long that takes: no lease lapses, nobody calls again, nothing is undone.
      await clock.advance(600_000);
      const view = await amends.inspect("one");
      expect(view?.stalled).toContain("step charge has not returned since");
      expect(view?.stalled).toContain(new Date(startedAt).toISOString().slice(0, 16));
      expect(view?.running).toEqual({ step: "charge", since: new Date(startedAt) });
      expect((await amends.attention.list()).items).toMatchObject([{ kind: "stalled-saga", id: "one" }]);
      expect(told.calls).toEqual(["act 1"]);
      told.held.open("late");
      await until(amends, clock, "FAILED");
      expect(told.calls).toEqual(["act 1", "undo charge late", "undo reserve"]);
      expect(amends.counters).toMatchObject({ recovered: 0, lost: 0 });
    },
  );

  it("[S-12] a call that fails at last lets its saga be undone, without a result", async () => {
    const told = story();
    const { amends, clock } = await begin(database, told, { timeout: "5s" }, 1);
    await until(amends, clock, "STALLED");
    told.held.fail(new Error("gave up"));
    await until(amends, clock, "FAILED");
    expect(told.calls).toEqual(["act 1", "undo charge undefined", "undo reserve"]);
  });

  it("[S-12][S-23] a cancel waits for a call that is known to run", async () => {
    const told = story();
    const { amends, clock } = await begin(database, told, { timeout: "5s" }, 3);
    await clock.advance(5_000 + GRACE_MS + 1_000);
    await amends.cancel("one", { reason: "changed my mind" });
    await until(amends, clock, "STALLED");
    expect(told.calls).toEqual(["act 1"]);
    told.held.open("late");
    await until(amends, clock, "FAILED");
    expect(told.calls).toEqual(["act 1", "undo charge late", "undo reserve"]);
  });

  it("[S-12][S-14] a person may decide although the call runs; what it answers later changes nothing", async () => {
    const told = story();
    const { amends, clock } = await begin(database, told, { timeout: "5s" }, 1);
    await until(amends, clock, "STALLED");
    await amends.retry("one", { reason: "the bank says it never arrived" });
    await until(amends, clock, "FAILED");
    expect(told.calls).toEqual(["act 1", "undo charge undefined", "undo reserve"]);
    told.held.open("late");
    await clock.advance(60_000);
    expect(await amends.inspect("one")).toMatchObject({ status: "FAILED" });
  });

  it("[S-22] a pivot that returns after all lets its stalled saga go forward", async () => {
    const clock = virtualClock();
    const held = gate<string>();
    const pivoted = saga("pivoted", nothing)
      .pivot("pay", { timeout: "5s", retry: { attempts: 1 }, act: () => held.pass() })
      .step("mail", { act: ({ results }) => `mail ${results.pay}` });
    const amends = await database.amends({ sagas: [pivoted], clock });
    await database.worker(amends);
    await amends.start(pivoted, {}, { id: "one" });
    await held.reached;
    await until(amends, clock, "STALLED");
    held.open("paid");
    await until(amends, clock, "COMPLETED");
    expect((await amends.inspect("one"))?.results).toEqual({ pay: "paid", mail: "mail paid" });
  });

  it("[S-12] an undo that does not return is tried again under its key, and FAILED waits for it", async () => {
    const clock = virtualClock();
    const held = gate();
    const calls: string[] = [];
    const undoing = saga("undoing", nothing)
      .step("one", {
        timeout: "5s",
        act: () => 1,
        compensateRetry: { attempts: 3, base: "1s" },
        compensate: ({ attempt }) => {
          calls.push(`undo ${attempt}`);
          return attempt === 1 ? held.pass() : undefined;
        },
      })
      .step("two", { act: () => err("no") });
    const amends = await database.amends({ sagas: [undoing], clock });
    await database.worker(amends);
    await amends.start(undoing, {}, { id: "one" });
    await held.reached;
    await until(amends, clock, "STALLED");
    expect(calls).toEqual(["undo 1", "undo 2"]);
    expect((await amends.inspect("one"))?.stalled).toMatch(
      /^the undo of step one has not returned since .*: the saga goes on when it returns$/,
    );
    held.open();
    await until(amends, clock, "FAILED");
    expect(calls).toEqual(["undo 1", "undo 2"]);
  });

  it("[S-12][S-24] in a group the others settle, and nothing is undone before the one that does not return has", async () => {
    const clock = virtualClock();
    const held = gate<string>();
    const calls: string[] = [];
    const grouped = saga("grouped", nothing).parallel("both", (group) =>
      group.step("quick", { act: () => 1, compensate: () => void calls.push("undo quick") }).step("deaf", {
        timeout: "5s",
        retry: { attempts: 1 },
        act: () => held.pass(),
        compensate: ({ result }) => void calls.push(`undo deaf ${String(result)}`),
      }),
    );
    const amends = await database.amends({ sagas: [grouped], clock });
    await database.worker(amends);
    await amends.start(grouped, {}, { id: "one" });
    await held.reached;
    await until(amends, clock, "STALLED");
    expect(calls).toEqual([]);
    held.open("late");
    await until(amends, clock, "FAILED");
    expect(calls.toSorted()).toEqual(["undo deaf late", "undo quick"]);
  });

  it("[S-20][S-12] no fallback takes over while a call is known to run", async () => {
    const clock = virtualClock();
    const held = gate<string>();
    const calls: string[] = [];
    const falling = saga("falling", nothing).step("card", {
      timeout: "5s",
      retry: { attempts: 1 },
      act: () => held.pass(),
      compensate: ({ result }) => void calls.push(`undo card ${String(result)}`),
      fallback: { name: "invoice", act: () => void calls.push("act invoice"), compensate: () => undefined },
    });
    const amends = await database.amends({ sagas: [falling], clock });
    await database.worker(amends);
    await amends.start(falling, {}, { id: "one" });
    await held.reached;
    await until(amends, clock, "STALLED");
    expect(calls).toEqual([]);
    held.open("late");
    await until(amends, clock, "FAILED");
    expect(calls).toEqual(["undo card late"]);
  });

  it("[S-16][K-08] a worker that has lost a saga does not claim it again beside its own call", async () => {
    const clock = virtualClock();
    const held = gate();
    let calls = 0;
    const slow = saga("slow", nothing).step("one", {
      act: async () => {
        calls += 1;
        await held.pass();
      },
    });
    const faults = faulty(await database.open({ clock }));
    const amends = await database.amends({ sagas: [slow], database: faults.db });
    await database.worker(amends);
    await amends.start(slow, {}, { id: "one" });
    await held.reached;
    faults.plan(
      1,
      1_000_000,
      "before",
      withCode(database.name === "postgres" ? "ECONNREFUSED" : "SQLITE_BUSY"),
    );
    await clock.advance(2 * LEASE_MS);
    faults.plan(1, 0, "before", withCode("none"));
    // The database is back, and the saga is due: whoever does not hear the call may take it.
    await clock.advance(3 * LEASE_MS);
    expect(calls).toBe(1);
    held.open();
    await until(amends, clock, "COMPLETED");
  });

  it("[S-12][K-18] a process that ends leaves the call in doubt: the next worker tries it again", async () => {
    const told = story();
    const clock = virtualClock();
    const definition = chargeSaga(told, { timeout: "5s" }, 3);
    const first = await database.amends({ sagas: [definition], clock });
    await database.worker(first);
    await first.start(definition, {}, { id: "one" });
    await told.held.reached;
    await clock.advance(5_000 + GRACE_MS + 1_000);
    await first.close({ deadline: "0s" });
    const second = await database.amends({ sagas: [definition], clock });
    await database.worker(second);
    await until(second, clock, "COMPLETED");
    expect(told.calls).toEqual(["act 1", "act 2"]);
  });

  it("[S-12][K-13] a late answer writes nothing into the log of a saga that a person has ended", async () => {
    const clock = virtualClock();
    const held = gate<string>();
    const order = saga("order", nothing)
      .pivot("pay", { act: () => 1 })
      .step("ship", {
        timeout: "5s",
        retry: { attempts: 1, base: "1h" },
        act: () => held.pass(),
      });
    const amends = await database.amends({ sagas: [order], clock, lease: "5m" });
    const worker = await database.worker(amends);
    await amends.start(order, {}, { id: "one" });
    await held.reached;
    await clock.advance(5_000 + GRACE_MS);
    await expect.poll(async () => (await amends.inspect("one"))?.actions).toEqual(["skip", "resolve"]);
    await amends.resolve("one", "COMPLETED", { reason: "shipped by hand" });
    held.open("late");
    const stopped = worker.stop({ deadline: "1s" });
    await clock.advance(1_000);
    await stopped;
    expect((await (await onlooker(database)).lines("one")).at(-1)).toBe("$resolve act COMPLETED");
  });

  it("[S-12][S-46] a person who ends a saga whose call has not returned ends it, and what follows is done", async () => {
    const clock = virtualClock();
    const db = await database.open({ clock });
    await makeEffects(db);
    const held = gate<string>();
    const order = saga("order", nothing)
      .step("charge", { timeout: "5s", retry: { attempts: 1 }, act: () => held.pass(), compensate: () => 1 })
      .onFailed({
        transaction: transactionOn(database.name),
        act: ({ tx, sagaId }) => effect(tx, `${sagaId} failed`),
      });
    const amends = await database.amends({ sagas: [order], database: db });
    await database.worker(amends);
    await amends.start(order, {}, { id: "one" });
    await held.reached;
    await until(amends, clock, "STALLED");
    await amends.resolve("one", "FAILED", { reason: "not charged" });
    // The worker that still hears the call claims nothing of this saga.
    const other = await database.amends({ sagas: [order], database: db });
    await database.worker(other);
    await until(other, clock, "FAILED");
    expect(await effects(db)).toEqual(["one failed"]);
    held.open("late");
  });

  it("[S-12][S-20] before a fallback takes over, nothing is undone beside a call of an earlier step", async () => {
    const told = story();
    const clock = virtualClock();
    const { calls, held } = told;
    const falling = saga("falling", nothing)
      .step("reserve", {
        timeout: "5s",
        retry: { attempts: 2, base: "1s" },
        act: ({ attempt }) => (attempt === 1 ? held.pass() : "r-2"),
        compensate: () => void calls.push("undo reserve"),
      })
      .step("card", {
        retry: { attempts: 1 },
        act: () => {
          calls.push("act card");
          throw new Error("down");
        },
        compensate: () => void calls.push("undo card"),
        fallback: { name: "invoice", act: () => void calls.push("act invoice"), compensate: () => undefined },
      });
    const amends = await database.amends({ sagas: [falling], clock });
    await database.worker(amends);
    await amends.start(falling, {}, { id: "one" });
    await held.reached;
    await expect
      .poll(async () => {
        await clock.advance(1_000);
        return (await amends.inspect("one"))?.timeline.some(
          ({ name, status }) => name === "card" && status === "FAILED",
        );
      })
      .toBe(true);
    await clock.advance(20_000);
    expect(calls).toEqual(["act card"]);
    held.open("late");
    await until(amends, clock, "COMPLETED");
    expect(calls).toEqual(["act card", "undo card", "act invoice"]);
  });

  it("[S-12][S-22][S-24] a late success behind the pivot leaves a saga stalled of which another step has failed", async () => {
    const clock = virtualClock();
    const [held, mailing] = [gate<string>(), gate()];
    const order = saga("order", nothing)
      .pivot("pay", { act: () => 1 })
      .parallel("after", (group) =>
        group
          .step("ship", {
            timeout: "5s",
            retry: { attempts: 2, base: "1s" },
            act: ({ attempt }) => {
              if (attempt === 1) return held.pass();
              throw new Terminal("gone");
            },
          })
          .step("mail", { act: async () => (await mailing.pass(), err("no address")) }),
      );
    const amends = await database.amends({ sagas: [order], clock });
    await database.worker(amends);
    await amends.start(order, {}, { id: "one" });
    await held.reached;
    await expect
      .poll(async () => {
        await clock.advance(1_000);
        return (await amends.inspect("one"))?.error?.label;
      })
      .toBe("gone");
    mailing.open();
    await until(amends, clock, "STALLED");
    expect(await amends.inspect("one")).toMatchObject({ skippable: ["ship"] });
    held.open("late");
    await expect
      .poll(async () => (await amends.inspect("one"))?.timeline.map(({ name }) => name))
      .toContain("return");
    expect(await amends.inspect("one")).toMatchObject({ status: "STALLED", skippable: ["mail"] });
    await amends.skip("one", "mail", { reason: "sent by hand" });
    await until(amends, clock, "COMPLETED");
    expect((await amends.inspect("one"))?.results).toMatchObject({ ship: "late" });
  });
});
