import { err, saga, Terminal, type Logger } from "amends";
import { defineCall } from "amends/calls";
import { event, handler } from "amends/events";
import { expect, it } from "vitest";
import { z } from "zod";
import type { Database } from "../../src/storage/database.ts";
import { raw } from "../../src/storage/sql.ts";
import { onEachDatabase, virtualClock } from "../support/databases.ts";
import { until } from "../support/until.ts";

const CANARY = "canary-3e91-person@example.com";

/** Everything that is in the tables, as text. */
async function dump(db: Database): Promise<string> {
  const tables = ["saga_executions", "saga_logs", "outbox", "migrations", "saga_history"];
  const all = await Promise.all(
    tables.map((name) => db.query(raw(`select * from ${db.dialect.table(name).text}`))),
  );
  return JSON.stringify(all);
}

class PersonalError extends Error {
  readonly email = CANARY;
}

onEachDatabase((database) => {
  const failing = (thrown: () => unknown, keepMessages: boolean) =>
    saga("leaky", z.object({}), {
      keepMessages,
      retry: { attempts: 2, base: "1ms" },
      compensateRetry: { attempts: 1 },
    })
      .step("one", { act: () => 1, compensate: () => Promise.reject(new PersonalError(CANARY)) })
      .step("two", { act: () => Promise.reject(thrown()) });

  async function everything(thrown: () => unknown, keepMessages: boolean): Promise<[string, string]> {
    const db = await database.open();
    const logged: unknown[] = [];
    const log = (...given: unknown[]): void => void logged.push(given);
    const logger: Logger = { info: log, warn: log, error: log };
    const definition = failing(thrown, keepMessages);
    const amends = await database.amends({ sagas: [definition], logger, onStalled: log });
    const worker = await database.worker(amends);
    const run = await amends.start(definition, {});
    const outcome = await run.result();
    logged.push(await amends.inspect(run.id), outcome, (await amends.attention.list()).items);
    await worker.stop();
    expect(outcome.status).toBe("STALLED");
    return [await dump(db), JSON.stringify(logged)];
  }

  it("[P-05][K-16] each failed try is one warning with its label and the next try; an err is none", async () => {
    const clock = virtualClock();
    const lines: unknown[] = [];
    const warn: Logger["warn"] = (fields, message) => void lines.push({ ...fields, message });
    const logger: Logger = { info: () => undefined, warn, error: () => undefined };
    const definition = saga("order", z.object({}), { retry: { attempts: 2, base: "1s" } })
      .step("one", { act: () => 1, compensate: () => Promise.reject(new Terminal("gone", CANARY)) })
      .step("two", {
        act: ({ attempt }) => (attempt === 1 ? Promise.reject(new TypeError(CANARY)) : err("no-stock")),
      });
    const amends = await database.amends({ sagas: [definition], logger, clock });
    const run = await amends.start(definition, {}, { id: "o-1" });
    await database.worker(amends);
    await until(async () => {
      await clock.advance(1_000);
      return (await run.status()) === "STALLED";
    });
    const failed = { part: "saga", name: "order", id: "o-1", message: "amends: a try failed" };
    // The worker logs once it hears that the line is written.
    await expect
      .poll(() => lines)
      .toEqual([
        { ...failed, step: "two", action: "act", attempt: 1, label: "TypeError", nextTryMs: 1_000 },
        { ...failed, step: "one", action: "compensate", attempt: 1, label: "gone" },
      ]);
  });

  it("[K-16] neither the tables, nor the log, nor any report holds a message, a stack or a field of an error", async () => {
    const causes = [
      () => new PersonalError(CANARY),
      () => new Terminal("gone", CANARY),
      () => Object.assign(new Error(CANARY), { code: CANARY, name: CANARY }),
      () => CANARY,
      () => ({ message: CANARY, toString: () => CANARY }),
      () => new AggregateError([new Error(CANARY)], CANARY, { cause: new Error(CANARY) }),
    ];
    for (const thrown of causes) {
      const [tables, reports] = await everything(thrown, false);
      expect(tables).not.toContain(CANARY);
      expect(reports).not.toContain(CANARY);
      // The stack of what was thrown names this file.
      expect(tables + reports).not.toContain("labels.test");
    }
  });

  it("[K-16] the label of the failure and of the undo's failure are both kept", async () => {
    const [tables, reports] = await everything(() => new TypeError(CANARY), false);
    for (const text of [tables, reports]) {
      expect(text).toContain("TypeError");
      expect(text).toContain("PersonalError");
    }
  });

  it("[K-16] messages are kept where a definition asks for them, and stacks even then not", async () => {
    const [tables, reports] = await everything(() => new TypeError(CANARY), true);
    expect(tables).toContain(CANARY);
    expect(tables + reports).not.toContain("labels.test");
  });

  it("[K-16] one setting keeps the messages of sagas, handlers and calls; a saga may decide otherwise", async () => {
    const db = await database.open();
    const Asked = event("Asked", z.object({}));
    const throwing = (): never => {
      throw new TypeError(`${CANARY}\0`);
    };
    const one = saga("one", z.object({})).step("act", { act: throwing, retry: { attempts: 1 } });
    const quiet = saga("quiet", z.object({}), { keepMessages: false }).step("act", {
      act: throwing,
      retry: { attempts: 1 },
    });
    const listener = handler("Listen", {
      on: Asked,
      ok: event("Heard", z.object({})),
      err: event("Unheard", z.object({})),
      retry: { attempts: 1 },
      handle: throwing,
    });
    const mail = defineCall("mail", { schema: z.object({}), retry: { attempts: 1 }, handle: throwing });
    for (const keepMessages of [true, false]) {
      const logged: unknown[] = [];
      const log = (...given: unknown[]): void => void logged.push(given);
      const amends = await database.amends({
        database: db,
        keepMessages,
        sagas: [one, quiet],
        events: [listener],
        calls: { define: [mail], onAbandoned: log },
        logger: { info: log, warn: log, error: log },
      });
      const message = keepMessages ? { message: CANARY } : {};
      const runs = [await amends.start(one, {}), await amends.start(quiet, {})] as const;
      await amends.events.publish(Asked({}));
      await amends.calls.enqueue(mail, {});
      while ((await amends.worker().runOnce()) > 0);
      const errors = await Promise.all(runs.map(async ({ id }) => (await amends.inspect(id))?.error));
      expect(errors).toEqual([
        { kind: "exhausted", label: "TypeError", ...message },
        { kind: "exhausted", label: "TypeError" },
      ]);
      const rows = await db.query(
        raw(
          `select last_error from ${db.dialect.table("outbox").text} where status = 'abandoned' order by enqueued_at`,
        ),
      );
      const stored = keepMessages ? `TypeError: ${CANARY}` : "TypeError";
      expect(rows.slice(-2).map((row) => row["last_error"])).toEqual([stored, stored]);
      expect(JSON.stringify(logged)).not.toContain(CANARY);
    }
  });

  it("[K-16] the user's own codes are labels once they are registered", async () => {
    const coded = saga("coded", z.object({})).step("one", {
      act: () => Promise.reject(Object.assign(new Error(CANARY), { code: "stock_empty" })),
      retry: { attempts: 1 },
    });
    for (const [errorCodes, label] of [
      [["stock_empty"], "stock_empty"],
      [[], "Error"],
    ] as const) {
      const amends = await database.amends({ sagas: [coded], errorCodes });
      const worker = await database.worker(amends);
      expect(await (await amends.start(coded, {})).result()).toMatchObject({ error: { label } });
      await worker.stop();
    }
  });

  it("[K-16] the value of an Err is the business's own and is kept; its label is never longer than a label", async () => {
    const refusing = saga("refusing", z.object({})).step("one", { act: () => err(`no, ${CANARY}`) });
    const amends = await database.amends({ sagas: [refusing] });
    await database.worker(amends);
    expect(await (await amends.start(refusing, {})).result()).toMatchObject({
      error: { kind: "err", value: `no, ${CANARY}`, label: "Err" },
    });
  });
});
