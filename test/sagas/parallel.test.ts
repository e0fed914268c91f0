import { err, saga, Terminal, type StepNews } from "amends";
import { virtualClock } from "amends/testing";
import { expect, it, vi } from "vitest";
import { z } from "zod";
import { onEachDatabase } from "../support/databases.ts";
import { until } from "../support/until.ts";
import { watchedClock } from "../support/watched-clock.ts";
import { checkInvariantsAfterEach } from "./support/check-invariants.ts";
import { collect } from "./support/collect.ts";
import { gate } from "./support/gate.ts";
import { onlooker } from "./support/look.ts";
import { watched } from "./support/watched.ts";

const nothing = z.object({});

onEachDatabase((database) => {
  checkInvariantsAfterEach(database);

  it("[S-24] the steps of a group act at the same time, and the steps after it see all their results", async () => {
    const [flight, hotel] = [gate<string>(), gate<string>()];
    const trip = saga("trip", nothing)
      .step("quote", { act: () => 7 })
      .parallel("bookings", (group) =>
        group
          .step("flight", { act: () => flight.pass() })
          .step("hotel", { act: () => hotel.pass() })
          .step("car", { act: ({ results }) => results.quote + 1 }),
      )
      .step("mail", { act: ({ results }) => `${results.flight} ${results.hotel} ${results.car}` });
    const amends = await database.amends({ sagas: [trip] });
    await database.worker(amends);
    const run = await amends.start(trip, {});
    const news = collect<StepNews>(run.stream());
    await Promise.all([flight.reached, hotel.reached]);
    hotel.open("H");
    await vi.waitFor(async () => expect((await amends.inspect(run.id))?.results).toHaveProperty("hotel"));
    flight.open("F");
    const results = { quote: 7, flight: "F", hotel: "H", car: 8, mail: "F H 8" };
    expect(await run.result()).toMatchObject({ status: "COMPLETED", results });
    expect((await news).map(({ name, status }) => `${name} ${status}`)).toEqual(
      ["quote", "car", "hotel", "flight", "mail"].map((name) => `${name} COMPLETED`),
    );
  });

  it("[S-24] no more of them act at once than `concurrency` says", async () => {
    let [now, most] = [0, 0];
    const act = async (): Promise<void> => {
      most = Math.max(most, ++now);
      await new Promise((resolve) => setImmediate(resolve));
      now--;
    };
    const many = saga("many", nothing).parallel(
      "all",
      (group) =>
        group.step("a", { act }).step("b", { act }).step("c", { act }).step("d", { act }).step("e", { act }),
      { concurrency: 2 },
    );
    const amends = await database.amends({ sagas: [many] });
    await database.worker(amends);
    expect(await (await amends.start(many, {})).result()).toMatchObject({ status: "COMPLETED" });
    expect(most).toBe(2);
  });

  it("[S-24] never more steps of a group act at once than its limit allows, however long they take", async () => {
    const held = gate();
    let begun = 0;
    const act = (): Promise<void> => ((begun += 1), held.pass());
    const many = saga("many", nothing).parallel(
      "all",
      (group) => group.step("a", { act }).step("b", { act }).step("c", { act }).step("d", { act }),
      { concurrency: 2 },
    );
    const other = saga("other", nothing)
      .step("one", { act: () => 1 })
      .step("two", { act: () => 2 });
    const amends = await database.amends({ sagas: [many, other] });
    await database.worker(amends);
    const run = await amends.start(many, {});
    await until(() => begun === 2);
    // Another saga goes its whole way meanwhile: a third step would have begun long ago.
    await (await amends.start(other, {})).result();
    expect(begun).toBe(2);
    held.open();
    expect(await run.result()).toMatchObject({ status: "COMPLETED" });
    expect(begun).toBe(4);
  });

  it("[S-24][S-05][S-07] a group begins in one commit, and N steps cost at most N + 1", async () => {
    const { database: db, commits } = watched(await database.open());
    const look = await onlooker(database);
    const seen: (readonly string[])[] = [];
    const act = async ({ sagaId }: { sagaId: string }): Promise<void> =>
      void seen.push(await look.history(sagaId));
    const both = saga("both", nothing)
      .parallel("first", (group) => group.step("a", { act }).step("b", { act }))
      .step("between", { act: () => 1 })
      .parallel("second", (group) => group.step("c", { act }).step("d", { act }));
    const amends = await database.amends({ database: db, sagas: [both] });
    await database.worker(amends, { poll: "1h" });
    await vi.waitFor(() => expect(commits()).toBe(1));
    const run = await amends.start(both, {});
    expect(await run.result()).toMatchObject({ status: "COMPLETED" });
    expect(commits()).toBeLessThanOrEqual(1 + 6);
    const begun = ["a act STARTED", "b act STARTED"];
    expect(seen.slice(0, 2)).toEqual([expect.arrayContaining(begun), expect.arrayContaining(begun)]);
    const later = ["between act COMPLETED", "c act STARTED", "d act STARTED"];
    expect(seen.slice(2)).toEqual([expect.arrayContaining(later), expect.arrayContaining(later)]);
  });

  it("[S-24] results that come while others are being written are written together", async () => {
    const { database: db, commits, holdNext } = watched(await database.open());
    const gates = [gate(), gate(), gate(), gate()] as const;
    const four = saga("four", nothing).parallel("all", (group) =>
      group
        .step("a", { act: () => gates[0].pass() })
        .step("b", { act: () => gates[1].pass() })
        .step("c", { act: () => gates[2].pass() })
        .step("d", { act: () => gates[3].pass() }),
    );
    const amends = await database.amends({ database: db, sagas: [four] });
    await database.worker(amends, { poll: "1h" });
    await vi.waitFor(() => expect(commits()).toBe(1));
    const run = await amends.start(four, {});
    await Promise.all(gates.map(({ reached }) => reached));
    commits();
    const writing = holdNext();
    gates[0].open();
    await writing.reached;
    for (const one of gates) one.open();
    await new Promise((resolve) => setImmediate(resolve));
    writing.open();
    expect(await run.result()).toMatchObject({ status: "COMPLETED" });
    expect(commits()).toBe(2);
  });

  it("[S-24][S-15] where somebody else wrote first, none of several lines is written, and all are decided anew", async () => {
    const { database: db, commits, holdNext } = watched(await database.open());
    const gates = [gate(), gate(), gate()] as const;
    const undone: string[] = [];
    const member = (name: string, which: 0 | 1 | 2) => ({
      act: () => gates[which].pass().then(() => name),
      compensate: ({ result }: { result: string | undefined }) => void undone.push(String(result)),
    });
    const three = saga("three", nothing).parallel("all", (group) =>
      group.step("a", member("a", 0)).step("b", member("b", 1)).step("c", member("c", 2)),
    );
    const amends = await database.amends({ database: db, sagas: [three] });
    const outside = await database.amends({ sagas: [three] });
    await database.worker(amends, { poll: "1h" });
    // The first claim is over: only what the saga writes is held.
    await vi.waitFor(() => expect(commits()).toBe(1));
    const run = await amends.start(three, {});
    await Promise.all(gates.map(({ reached }) => reached));
    const first = holdNext();
    gates[0].open();
    await first.reached;
    const second = holdNext();
    gates[1].open();
    gates[2].open();
    first.open();
    await second.reached;
    await outside.cancel(run.id, { reason: "meanwhile" });
    second.open();
    expect(await run.result()).toMatchObject({ status: "FAILED", error: { kind: "cancelled" } });
    expect(undone).toEqual(["c", "b", "a"]);
  });

  it("[S-24] a failure lets those that run settle, begins no other, then undoes what was done in reverse", async () => {
    const [slow, failing] = [gate<string>(), gate()];
    const calls: string[] = [];
    const aborted: boolean[] = [];
    const undo = (name: string) => ({
      compensate: ({ result }: { result: unknown }) => void calls.push(`undo ${name} ${String(result)}`),
    });
    const trip = saga("trip", nothing)
      .step("quote", { act: () => "Q", ...undo("quote") })
      .parallel(
        "bookings",
        (group) =>
          group
            .step("flight", {
              act: async ({ signal }) => {
                const value = await slow.pass();
                aborted.push(signal.aborted);
                return value;
              },
              ...undo("flight"),
            })
            .step("hotel", { act: () => failing.pass().then(() => err("full")), ...undo("hotel") })
            .step("car", { act: () => void calls.push("act car"), ...undo("car") }),
        { concurrency: 2 },
      )
      .step("mail", { act: () => void calls.push("act mail") });
    const amends = await database.amends({ sagas: [trip] });
    await database.worker(amends);
    const run = await amends.start(trip, {});
    await Promise.all([slow.reached, failing.reached]);
    failing.open();
    await vi.waitFor(async () =>
      expect((await amends.inspect(run.id))?.error).toMatchObject({ kind: "err", value: "full" }),
    );
    expect(await run.status()).toBe("RUNNING");
    expect(calls).toEqual([]);
    slow.open("F");
    expect(await run.result()).toMatchObject({ status: "FAILED", step: "hotel", error: { value: "full" } });
    expect(calls).toEqual(["undo flight F", "undo quote Q"]);
    expect(aborted).toEqual([false]);
  });

  it("[S-24] where two fail, the first is the reason, and where nothing can be undone the last is waited for", async () => {
    const [one, two] = [gate(), gate()];
    const pair = saga("pair", nothing).parallel("both", (group) =>
      group
        .step("one", { act: () => one.pass().then(() => Promise.reject(new Terminal("gone"))) })
        .step("two", { act: () => two.pass().then(() => err("no")) }),
    );
    const amends = await database.amends({ sagas: [pair] });
    await database.worker(amends);
    const run = await amends.start(pair, {});
    await Promise.all([one.reached, two.reached]);
    two.open();
    await vi.waitFor(async () =>
      expect((await amends.inspect(run.id))?.error).toMatchObject({ value: "no" }),
    );
    expect(await run.status()).toBe("RUNNING");
    one.open();
    expect(await run.result()).toMatchObject({ status: "FAILED", step: "two", error: { value: "no" } });
  });

  it("[S-24][S-13] one is tried again at its own time while another still runs", async () => {
    const clock = watchedClock();
    const slow = gate();
    const at: number[] = [];
    const mixed = saga("mixed", nothing, { retry: { attempts: 5, base: "30s" } }).parallel("both", (group) =>
      group
        .step("flaky", {
          act: ({ attempt }) => {
            at.push(clock.virtualNowMs());
            if (attempt < 3) throw new Error("busy");
            return attempt;
          },
        })
        .step("slow", { act: () => slow.pass() }),
    );
    // Time is moved faster than a busy database could renew a lease.
    const amends = await database.amends({ sagas: [mixed], clock, lease: "1h" });
    const startedAt = clock.virtualNowMs();
    const run = await amends.start(mixed, {});
    const working = amends.worker().runOnce();
    await slow.reached;
    await vi.waitFor(() => expect(at).toHaveLength(1));
    for (const [tries, seconds] of [
      [2, 30],
      [3, 60],
    ] as const) {
      await until(() => clock.isWaiting(seconds * 1_000));
      await clock.advance(seconds * 1_000 - 1);
      expect(at).toHaveLength(tries - 1);
      await clock.advance(1);
      await vi.waitFor(() => expect(at).toHaveLength(tries));
    }
    slow.open();
    await working;
    expect(at.map((ms) => ms - startedAt)).toEqual([0, 30_000, 90_000]);
    expect(await run.result()).toMatchObject({ status: "COMPLETED", results: { flaky: 3 } });
  });

  it("[S-24][S-13] where only later tries are left, the saga is given back and each try comes at its own time", async () => {
    const clock = virtualClock();
    const at: string[] = [];
    const startedAt = clock.virtualNowMs();
    const shaky =
      (name: string) =>
      ({ attempt }: { attempt: number }): number => {
        at.push(`${name} ${(clock.virtualNowMs() - startedAt) / 1_000}`);
        if (attempt < 3) throw new Error("busy");
        return attempt;
      };
    const two = saga("two", nothing).parallel("both", (group) =>
      group
        .step("quick", { act: shaky("quick"), retry: { attempts: 5, base: "10s" } })
        .step("patient", { act: shaky("patient"), retry: { attempts: 5, base: "25s" } }),
    );
    const amends = await database.amends({ sagas: [two], clock });
    const run = await amends.start(two, {});
    const look = await onlooker(database);
    expect(await amends.worker().runOnce()).toBe(1);
    for (const seconds of [10, 15, 5, 45]) {
      const { owner, gate_ms: dueAt } = await look.row(run.id);
      expect([owner, Number(dueAt) - clock.virtualNowMs()]).toEqual([null, seconds * 1_000]);
      clock.jump(seconds * 1_000 - 1);
      expect(await amends.worker().runOnce()).toBe(0);
      clock.jump(1);
      expect(await amends.worker().runOnce()).toBe(1);
    }
    expect(at).toEqual(["quick 0", "patient 0", "quick 10", "patient 25", "quick 30", "patient 75"]);
    expect(await run.result()).toMatchObject({ status: "COMPLETED" });
    expect(await look.row(run.id)).toMatchObject({ recovery_attempts: 0 });
  });
});
