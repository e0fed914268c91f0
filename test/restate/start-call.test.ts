/** Starts in the transaction of a database beside Restate. */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { saga } from "amends";
import { RestateSagas } from "amends/restate";
import { afterEach, beforeEach, expect, it } from "vitest";
import { z } from "zod";
import { caller } from "../support/caller.ts";
import { onEachDatabase } from "../support/databases.ts";
import { until } from "../support/until.ts";

const order = saga("order", z.object({ cents: z.number() })).step("charge", { act: () => 1 });

/** What Restate's ingress was asked, and what it answers. */
let asked: string[];
let answers: Readonly<Record<string, unknown>>;
let ingress: Server;

beforeEach(async () => {
  asked = [];
  answers = { "/order/one/run/send": { status: "Accepted" } };
  ingress = createServer((request, response) => {
    let body = "";
    request.setEncoding("utf8").on("data", (text: string) => (body += text));
    request.once("end", () => {
      asked.push(`${request.url ?? ""} ${body}`);
      response.end(JSON.stringify(answers[request.url ?? ""]));
    });
  });
  await new Promise<void>((resolve) => ingress.listen(0, "127.0.0.1", resolve));
});

afterEach(() => new Promise((resolve) => ingress.close(resolve)));

const sagasAt = (server: Server): RestateSagas =>
  new RestateSagas({ ingress: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });

onEachDatabase((database) => {
  it("[R-06] a start in the caller's transaction reaches Restate exactly if that commits", async () => {
    const sagas = sagasAt(ingress);
    const amends = await database.amends({ calls: [sagas.startCall] });
    await database.worker(amends);
    const { tx, exec, close } = await caller(database);
    for (const [id, end] of [
      ["none", "rollback"],
      ["one", "commit"],
    ] as const) {
      await exec("begin");
      const run = await sagas.start(order, { cents: 5 }, { id, through: amends.calls, tx });
      expect([run.id, run.created]).toEqual([id, true]);
      expect(asked).toEqual([]);
      await exec(end);
    }
    await until(() => asked.length > 0);
    expect(asked).toEqual([`/order/one/run/send ${JSON.stringify({ version: 1, input: '{"cents":5}' })}`]);
    await close();
  });

  it("[R-06] a start whose id another saga has is abandoned, and needs a person", async () => {
    answers = {
      "/order/one/run/send": { status: "PreviouslyAccepted" },
      "/order/one/begun": { version: 1, input: '{"cents":9}' },
    };
    const sagas = sagasAt(ingress);
    const amends = await database.amends({ calls: [sagas.startCall] });
    await database.worker(amends);
    await sagas.start(order, { cents: 5 }, { id: "one", through: amends.calls });
    const [item] = await until(async () => {
      const { items } = await amends.attention.list();
      return items.length > 0 && items;
    });
    expect(item).toMatchObject({
      name: "restate-start",
      reason: expect.stringContaining("SagaConflict") as unknown,
    });
  });

  it("[R-06] a transaction without the calls of its database is refused", async () => {
    const sagas = sagasAt(ingress);
    await expect(sagas.start(order, { cents: 5 }, { tx: {} })).rejects.toMatchObject({ code: "BAD_OPTION" });
    await expect(sagas.start(order, { cents: 5 }, { tx: undefined })).rejects.toMatchObject({
      code: "NEEDS_TRANSACTION",
    });
    await expect(sagas.start(order, { cents: "5" } as never)).rejects.toMatchObject({ code: "BAD_INPUT" });
    expect(asked).toEqual([]);
  });
});
