/** The same event, sent twice in one moment; events made from events; handlers around handlers. */
import { ok } from "amends";
import { event, eventSaga, handler, step, type Handler } from "amends/events";
import { expect, it } from "vitest";
import { z } from "zod";
import { sealOf } from "../../src/core/flow/sealed.ts";
import { onEachDatabase } from "../support/databases.ts";
import { sent, waitFor } from "./support/flow.ts";

const Asked = event("Asked", z.object({ n: z.number() }));
const Answered = event("Answered", z.object({ n: z.number() }));
const Refused = event("Refused", z.object({ n: z.number() }));

/** A schema that gives back what it is given, with everything that is on it. */
const asGiven = {
  "~standard": {
    version: 1,
    vendor: "by-hand",
    validate: (value: unknown) => ({ value: value as { readonly n: number } }),
  },
} as const;

/** A handler, and what it was called with. */
function counting(): { answer: Handler<typeof Asked, typeof Answered, typeof Refused>; calls: number[] } {
  const calls: number[] = [];
  const answer = handler("answer", {
    on: Asked,
    ok: Answered,
    err: Refused,
    handle: ({ n }) => (calls.push(n), ok(Answered({ n }))),
  });
  return { answer, calls };
}

it("[F-02] an event that is made from the fields of another one is an event of its own", () => {
  const [First, Second] = [event("First", asGiven), event("Second", asGiven)];
  const first = First({ n: 1 });
  const { type: _type, id: _id, time: _time, correlation: _of, causation: _by, ...fields } = first;
  const second = Second(fields);
  expect([sealOf(second)?.type, sealOf(second)?.id, second.n]).toEqual(["Second", second.id, 1]);
  expect(second.id).not.toBe(first.id);
});

onEachDatabase((database) => {
  it("[F-17] an event that is published twice in one moment is handled once", async () => {
    const db = await database.open();
    const { answer, calls } = counting();
    const amends = await database.amends({ database: db, events: [answer] });
    await database.worker(amends);
    const [one, two] = [Asked({ n: 1 }), Asked({ n: 2 })];
    await Promise.all([amends.events.publish(one), amends.events.publish(one)]);
    await amends.events.publish([two, two]);
    await waitFor(async () => (await sent(db)).filter((name) => name === "Answered").length === 2);
    expect(calls).toEqual([1, 2]);
    expect((await sent(db)).filter((name) => name === "Asked > answer")).toHaveLength(2);
  });

  it("[F-14][F-17] a trigger that is published twice in one moment begins one run, whose steps are done once", async () => {
    const { answer, calls } = counting();
    const asking = eventSaga("asking", {
      trigger: Asked,
      correlate: "n",
      id: { serialize: String, deserialize: Number },
      steps: [step("answer", answer)],
      onCompleted: (n) => Answered({ n }),
      onFailed: (n) => Refused({ n }),
    });
    const amends = await database.amends({ events: [asking] });
    await database.worker(amends);
    const asked = Asked({ n: 7 });
    await Promise.all([amends.events.publish(asked), amends.events.publish(asked)]);
    await waitFor(async () => (await amends.events.runs(asking, 7))[0]?.status === "completed");
    expect([calls, (await amends.events.runs(asking, 7)).length]).toEqual([[7], 1]);
  });

  it("[F-01] what a handler is given can be copied and handed on by whoever wraps it", async () => {
    const seen: unknown[] = [];
    const wrapped = handler("wrapped", {
      on: Asked,
      ok: Answered,
      err: Refused,
      handle: ({ id, n }, context) => {
        const { key, attempt, signal, outbox, more } = { ...context, more: "of mine" };
        outbox.append(Refused({ n }));
        seen.push([key === `${id}:wrapped`, attempt, signal.aborted, more]);
        return ok(Answered({ n }));
      },
    });
    const db = await database.open();
    const amends = await database.amends({ database: db, events: [wrapped] });
    await database.worker(amends);
    await amends.events.publish(Asked({ n: 1 }));
    await waitFor(async () => (await sent(db)).includes("Refused"));
    expect(seen).toEqual([[true, 1, false, "of mine"]]);
  });
});
