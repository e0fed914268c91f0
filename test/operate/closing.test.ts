import { AmendsError, saga, Terminal } from "amends";
import { openSqlite } from "amends/sqlite";
import pg from "pg";
import { expect, it } from "vitest";
import { z } from "zod";
import { transactionOn } from "../sagas/support/effects-table.ts";
import { onDatabase, onEachDatabase } from "../support/databases.ts";

const nothing = z.object({});
const patient = saga("patient", nothing).step("wait", {
  act: ({ signal }) =>
    new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("stopped")))),
});

onEachDatabase((database) => {
  it("[K-18] after close every call is refused, and whoever waits for a saga is told", async () => {
    const amends = await database.amends({ sagas: [patient] });
    const worker = await database.worker(amends);
    const run = await amends.start(patient, {});
    const waiting = run.result().catch((error: unknown) => error);
    await worker.stop({ deadline: "0s" });
    await amends.close();
    expect(await waiting).toMatchObject({ code: "CLOSED" });
    for (const call of [
      () => run.status(),
      () => amends.inspect(run.id),
      () => amends.attention.list(),
      () => amends.start(patient, {}),
      () => amends.migrate(),
      () => amends.cancel(run.id, { reason: "too late" }),
    ]) {
      await expect(call()).rejects.toMatchObject({ code: "CLOSED" });
    }
  });

  it("[S-14] a step after the pivot is skipped with the result that the steps after it need", async () => {
    const order = saga("order", nothing)
      .pivot("ship", { act: () => 1 })
      .step("label", {
        act: (): { plate: string } => {
          throw new Terminal("no-printer");
        },
      })
      .step("mail", { act: ({ results }) => `sent ${results.label.plate}` });
    const amends = await database.amends({ sagas: [order] });
    await database.worker(amends);
    const run = await amends.start(order, {});
    expect(await run.result()).toMatchObject({ status: "STALLED", step: "label" });
    const view = await amends.skip(run.id, "label", { reason: "printed by hand", result: { plate: "X 1" } });
    expect(view.timeline.at(-1)).toMatchObject({ name: "skip", step: "label", note: "printed by hand" });
    expect(await run.result()).toMatchObject({
      status: "COMPLETED",
      results: { label: { plate: "X 1" }, mail: "sent X 1" },
    });
  });

  it("[K-18] a transactional act that never ends and ignores its signal keeps neither stop nor close waiting for ever", async () => {
    const stuck = saga("stuck", nothing).step("hold", {
      transaction: transactionOn(database.name),
      act: () => new Promise(() => undefined),
    });
    const amends = await database.amends({ sagas: [stuck] });
    const worker = await database.worker(amends, { poll: "20ms" });
    await amends.start(stuck, {});
    await worker.stop({ deadline: "50ms" });
    await amends.close();
    await expect(amends.start(stuck, {})).rejects.toMatchObject({ code: "CLOSED" });
  });

  it("[K-16] a logger that throws hurts nobody", async () => {
    const fail = (): never => {
      throw new Error("the disk of the log is full");
    };
    const order = saga("order", nothing).pivot("ship", {
      act: () => {
        throw new Terminal("gone");
      },
    });
    const amends = await database.amends({ sagas: [order], logger: { info: fail, warn: fail, error: fail } });
    await database.worker(amends);
    expect(await (await amends.start(order, {})).result()).toMatchObject({ status: "STALLED" });
  });

  it("[K-20] misspelt options are refused, not ignored", async () => {
    const db = await database.open();
    const wrong = { database: db, onStaled: () => undefined } as never;
    await expect(database.amends(wrong)).rejects.toMatchObject({ code: "BAD_OPTION" });
    const amends = await database.amends({ sagas: [] });
    expect(() => amends.worker({ concurency: 1 } as never)).toThrow(/no option named concurency/);
    expect(() => saga("x", nothing, { retry: { attemps: 3 } as never })).toThrow(/no option named attemps/);
    await expect(amends.retry("x", undefined as never)).rejects.toThrow(AmendsError);
    await expect(amends.attention.list({ after: "garbage" })).rejects.toMatchObject({ code: "BAD_OPTION" });
    await expect(amends.attention.list({ limit: -1 })).rejects.toMatchObject({ code: "BAD_OPTION" });
  });
});

onDatabase("sqlite", (database) => {
  it("[S-19] a handle without an open transaction, or of another SQLite library, is refused as a transaction", async () => {
    const amends = await database.amends({ sagas: [patient] });
    const handle = openSqlite(await database.place());
    await expect(amends.start(patient, {}, { tx: handle })).rejects.toMatchObject({
      code: "NEEDS_TRANSACTION",
    });
    await expect(amends.start(patient, {}, { tx: {} })).rejects.toMatchObject({ code: "BAD_OPTION" });
    class Other {
      readonly isTransaction = true;
      prepare = handle.prepare.bind(handle);
    }
    await expect(amends.start(patient, {}, { tx: new Other() })).rejects.toMatchObject({
      code: "DATABASE_UNSAFE",
    });
    handle.close();
  });
});

onDatabase("postgres", (database) => {
  it("[S-19] a client without an open transaction is refused as a transaction", async () => {
    const amends = await database.amends({ sagas: [patient] });
    const client = new pg.Client(await database.place());
    await client.connect();
    await expect(amends.start(patient, {}, { tx: client })).rejects.toMatchObject({
      code: "NEEDS_TRANSACTION",
    });
    await expect(amends.start(patient, {}, { tx: {} })).rejects.toMatchObject({ code: "BAD_OPTION" });
    // A client of the native binding is known by what it carries.
    const native = Object.assign(new pg.Client(), { native: {} });
    await expect(amends.start(patient, {}, { tx: native })).rejects.toThrow(/pg-native/);
    await client.end();
  });
});
