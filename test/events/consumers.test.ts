import { err, ok } from "amends";
import { consumer, event, eventSaga, handler, step } from "amends/events";
import { expect, it } from "vitest";
import { z } from "zod";
import { effect, effects, makeEffects, transactionOn } from "../sagas/support/effects-table.ts";
import { onEachDatabase } from "../support/databases.ts";
import { runIn, sent, waitFor } from "./support/flow.ts";

const Asked = event("Asked", z.object({ n: z.number() }));
const Answered = event("Answered", z.object({ n: z.number() }));
const Refused = event("Refused", z.object({ n: z.number() }));
const Noted = event("Noted", z.object({ n: z.number() }));
const Undo = event("Undo", z.object({ n: z.number() }));
const Ended = event("Ended", z.object({ n: z.number() }));

onEachDatabase((database) => {
  it("[F-20] a consumer gets each event beside the handlers, and nothing follows from it", async () => {
    const db = await database.open();
    const seen: unknown[] = [];
    const answer = handler("answer", {
      on: Asked,
      ok: Answered,
      err: Refused,
      handle: ({ n }) => ok(Answered({ n })),
    });
    const audit = consumer("audit", {
      on: Asked,
      handle: ({ n, type }, { attempt, key }) => void seen.push([type, n, attempt, key.endsWith(":audit")]),
    });
    const amends = await database.amends({ database: db, events: [answer, audit] });
    await database.worker(amends);
    await amends.events.publish(Asked({ n: 1 }));
    await waitFor(async () => (await sent(db)).length === 3 && seen.length === 1);
    expect(seen).toEqual([["Asked", 1, 1, true]]);
    expect((await sent(db)).toSorted()).toEqual(["Answered", "Asked > answer", "Asked > audit"]);
  });

  it("[F-20][F-17] a consumer that throws is called again, and what follows of the same correlation waits for it", async () => {
    const calls: string[] = [];
    const audit = consumer("audit", {
      on: Asked,
      retry: { attempts: 3, base: "1ms" },
      handle: ({ n }, { attempt }) => {
        calls.push(`${n} ${attempt}`);
        if (n === 1 && attempt < 3) throw new Error("the books are closed");
      },
    });
    const amends = await database.amends({ events: [audit] });
    await database.worker(amends);
    await amends.events.publish([1, 2].map((n) => Asked({ n }, { correlation: "one" })));
    await waitFor(() => calls.length === 4);
    expect(calls).toEqual(["1 1", "1 2", "1 3", "2 1"]);
  });

  it("[F-20] a consumer that keeps throwing is given up and shown", async () => {
    const audit = consumer("audit", {
      on: Asked,
      retry: { attempts: 1 },
      handle: () => {
        throw new TypeError("never");
      },
    });
    const amends = await database.amends({ events: [audit] });
    await database.worker(amends);
    await amends.events.publish(Asked({ n: 1 }));
    const [item] = await waitFor(async () => {
      const { items } = await amends.attention.list();
      return items.length > 0 && items;
    });
    expect(item).toMatchObject({ kind: "abandoned-event", handler: "audit", error: "TypeError" });
  });

  it("[F-20][F-07] its writes, what it sends besides and the mark that it is done are one commit", async () => {
    const db = await database.open();
    await makeEffects(db);
    let calls = 0;
    const book = consumer("book", {
      on: Asked,
      retry: { attempts: 3, base: "1ms" },
      transaction: transactionOn(database.name),
      handle: async ({ n }, { tx, outbox }) => {
        await effect(tx, `booked ${n}`);
        outbox.append(Noted({ n }));
        if (++calls === 1) throw new Error("once");
      },
    });
    const amends = await database.amends({ database: db, events: [book] });
    await database.worker(amends);
    await amends.events.publish(Asked({ n: 7 }));
    await waitFor(async () => (await sent(db)).includes("Asked > book") && calls === 2);
    expect(await effects(db)).toEqual(["booked 7"]);
    expect(await sent(db)).toEqual(["Asked > book", "Noted"]);
  });

  it.each([ok(Answered({ n: 1 })), err(Refused({ n: 1 }))])(
    "[F-20] a consumer that returns ok or err is told that nothing would come of it",
    async (answer) => {
      const audit = consumer("audit", { on: Asked, handle: (() => answer) as never });
      const amends = await database.amends({ events: [audit] });
      await database.worker(amends);
      await amends.events.publish(Asked({ n: 1 }));
      const [item] = await waitFor(async () => {
        const { items } = await amends.attention.list();
        return items.length > 0 && items;
      });
      expect(item).toMatchObject({ error: "SagaContractViolation", attempts: 1 });
    },
  );

  it("[F-20][F-11] a consumer may take the command that undoes a step: the saga waits until it has returned", async () => {
    const db = await database.open();
    const undone: number[] = [];
    const act = handler("act", {
      on: Asked,
      ok: Answered,
      err: Refused,
      handle: ({ n }) => ok(Answered({ n })),
    });
    const fail = handler("fail", {
      on: Answered,
      ok: Noted,
      err: Refused,
      handle: ({ n }) => err(Refused({ n })),
    });
    const undo = consumer("undo", { on: Undo, handle: ({ n }) => void undone.push(n) });
    const process = eventSaga("process", {
      trigger: Asked,
      correlate: "n",
      id: { serialize: String, deserialize: Number },
      steps: [step("act", act, { compensation: Undo }), step("fail", fail)],
      onCompleted: (n) => Ended({ n }),
      onFailed: (n) => Ended({ n }),
    });
    const amends = await database.amends({ database: db, events: [process, undo] });
    await database.worker(amends);
    await amends.events.publish(Asked({ n: 1 }));
    await runIn(amends, process, "1", "failed");
    expect(undone).toEqual([1]);
    expect(await sent(db)).toEqual(["Asked > act", "Answered > fail", "Refused", "Undo > undo", "Ended"]);
  });
});

it("[F-20] a consumer's definition is checked", () => {
  const handle = (): void => undefined;
  const made = (options: object) => () => consumer("audit", { on: Asked, handle, ...options });
  expect(made({ on: "Asked" })).toThrow("Consumer audit: `on` must be an event, made by `event(…)`.");
  expect(made({ handle: 1 })).toThrow("Consumer audit: `handle` must be a function.");
  expect(made({ ok: Answered })).toThrow("Consumer audit: there is no option named ok");
  expect(() => consumer("", { on: Asked, handle })).toThrow("A consumer's name");
});
