import { Amends, err, ok } from "amends";
import {
  all,
  event,
  eventSaga,
  handler,
  oneOf,
  SagaOrchestrator,
  SagaRegistry,
  SagaContractViolation,
  type SagaStep,
  step,
  type AnyEvent,
} from "amends/events";
import { transaction } from "amends/postgres";
import { sqlite } from "amends/sqlite";
import { expect, it } from "vitest";
import { z } from "zod";

const on = z.object({ key: z.string() });
const A = event("A", on);
const B = event("B", on);
const C = event("C", on);
const No = event("No", on);
const Undo = event("Undo", on);

const link = (name: string, from: AnyEvent, to: AnyEvent): ReturnType<typeof handler> =>
  handler(name, { on: from, ok: to, err: No, handle: () => ok(to({ key: "x" } as never)) as never });

const ends = { onCompleted: () => C({ key: "x" }), onFailed: () => No({ key: "x" }) };
const chain = (name: string, ...steps: SagaStep[]): ReturnType<typeof eventSaga> =>
  eventSaga(name, { trigger: A, correlate: "key", steps: steps as never, ...ends }) as never;

function register(options: object): () => Amends {
  return () => new Amends({ database: sqlite(":memory:"), ...options });
}

it("[F-03] a chain that does not fit is refused when it is defined, naming both sides", () => {
  expect(() => chain("s", step("two", link("h", B, C)))).toThrow("step two takes B, but the trigger gives A");
  expect(() => chain("s", step("one", link("h1", A, C)), step("two", link("h2", B, C)))).toThrow(
    "step two takes B, but step one gives C",
  );
  expect(() => chain("s")).toThrow("at least one");
  expect(() => chain("s", step("one", link("h1", A, B)), step("one", link("h2", B, C)))).toThrow(
    "two steps named one",
  );
});

it("[F-04] one handler in two sagas is an error; so are two different handlers, sagas or events of one name", () => {
  const shared = link("shared", A, B);
  expect(register({ events: [chain("s1", step("x", shared)), chain("s2", step("y", shared))] })).toThrow(
    SagaContractViolation,
  );
  expect(register({ events: [link("same", A, B), link("same", A, C)] })).toThrow(
    "Two handlers are named same: one is A → B | No, the other one A → C | No",
  );
  expect(
    register({
      events: [chain("s", step("x", link("h1", A, B))), chain("s", step("x", link("h2", A, B)))],
    }),
  ).toThrow("Two event sagas are named s: one is A by key (x: h1), the other one A by key (x: h2)");
  const wider = event("A", z.object({ key: z.string(), more: z.string() }));
  expect(register({ events: [link("one", A, B), link("two", wider, B)] })).toThrow(
    "Two events are named A: one is version 1 with key, the other one version 1 with key, more",
  );
});

it("[F-04] a definition that is loaded twice, as by two bundles, is one definition, and the newer one runs", async () => {
  const ran: string[] = [];
  const load = (copy: string) => {
    const Asked = event("Asked", on);
    const Answered = event("Answered", on);
    const answer = handler("Answer", {
      on: Asked,
      ok: Answered,
      err: event("Refused", on),
      handle: ({ key }) => {
        ran.push(copy);
        return ok(Answered({ key }));
      },
    });
    const asking = eventSaga("asking", {
      trigger: Asked,
      correlate: "key",
      steps: [step("answer", answer)],
      onCompleted: (key) => C({ key }),
      onFailed: (key) => No({ key }),
    });
    return { Asked, asking, answer };
  };
  const [older, newer] = [load("older"), load("newer")];
  const amends = register({ events: [older.asking, older.answer, newer.asking, newer.answer] })();
  await amends.migrate();
  await amends.events.publish([older.Asked({ key: "x" }), newer.Asked({ key: "y" })]);
  while ((await amends.worker().runOnce()) > 0);
  expect(ran).toEqual(["newer", "newer"]);
  await amends.close();
});

it("[F-11] a command has one handler at most, which is no step of a saga", () => {
  const undoable = chain("s", step("x", link("h", A, B), { compensation: Undo }));
  expect(register({ events: [undoable, link("u1", Undo, C), link("u2", Undo, C)] })).toThrow(
    "one handler takes it, not 2",
  );
  const other = eventSaga("t", {
    trigger: Undo,
    correlate: "key",
    steps: [step("y", link("u", Undo, C))] as never,
    ...ends,
  });
  expect(register({ events: [undoable, other] })).toThrow("cannot be a step of a saga");
});

it("[F-03] a command that needs more than the id is refused, unless the saga makes it itself", () => {
  const UndoMore = event("UndoMore", z.object({ key: z.string(), why: z.string() }));
  const undone = step("x", link("h", A, B), { compensation: UndoMore });
  expect(() => chain("s", undone)).toThrow(
    "UndoMore needs more than key, at least why: make it in `onCompensate`",
  );
  const own = { onCompensate: (key: string) => UndoMore({ key, why: "because" }) };
  expect(() =>
    eventSaga("s", { trigger: A, correlate: "key", steps: [undone] as never, ...ends, ...own }),
  ).not.toThrow();
});

it("[F-23] a chain of upcasts leads from every older version to the newest", () => {
  const schema = z.object({ name: z.string(), tags: z.array(z.string()), level: z.number() });
  const Moved = event("Moved", schema, {
    version: 3,
    upcast: {
      1: (data) => ({ ...(data as object), tags: [] }),
      2: (data) => ({ ...(data as object), level: 1 }),
    },
  });
  expect(Moved.read('{"name":"a"}', 1)).toEqual({ name: "a", tags: [], level: 1 });
  expect(Moved.read('{"name":"a","tags":["b"]}', 2)).toEqual({ name: "a", tags: ["b"], level: 1 });
  expect(Moved.read('{"name":"a","tags":[],"level":7}', 3)).toEqual({ name: "a", tags: [], level: 7 });
});

it("[F-23] a chain of upcasts with a gap, or with a version that there is not, is refused", () => {
  const same = (data: unknown): unknown => data;
  expect(() => event("X", on, { version: 4, upcast: { 1: same, 3: same } })).toThrow(
    "Event X: its chain of upcasts has a gap: add `2: (data) => …`, which makes version 3 of version 2.",
  );
  expect(() => event("X", on, { version: 2, upcast: { 1: same, 2: same } })).toThrow(
    "its chain of upcasts has 2, but it has versions 1 to 2",
  );
  expect(() => event("X", on, { version: 2, upcast: 1 as never })).toThrow("must be a function, or a chain");
});

const [D, E, F] = ["D", "E", "F"].map((name) => event(name, on)) as unknown as [AnyEvent, AnyEvent, AnyEvent];
const several = (
  name: string,
  from: readonly AnyEvent[],
  to: readonly AnyEvent[],
): ReturnType<typeof handler> =>
  handler(name, {
    on: (from.length > 1 ? all(...(from as [AnyEvent, AnyEvent])) : from[0]) as AnyEvent,
    ok: (to.length > 1 ? oneOf(...(to as [AnyEvent, AnyEvent])) : to[0]) as AnyEvent,
    err: No,
    handle: () => undefined as never,
  });
type Line = readonly [name: string, from: readonly AnyEvent[], to: readonly AnyEvent[], options?: object];
const steps = (...given: readonly Line[]): SagaStep[] =>
  given.map(([name, from, to, options]) => step(name, several(`h-${name}`, from, to), options) as SagaStep);

it("[F-24] steps that fan in or branch are refused when a run could wait for ever or begin a step twice", () => {
  const refused =
    (...given: readonly Line[]): (() => unknown) =>
    () =>
      chain("s", ...steps(...given));
  expect(refused(["a", [A], [B]], ["b", [B, D], [C]])).toThrow(
    "step b waits for D, which no step before it gives",
  );
  expect(refused(["a", [A], [B, D]], ["b", [B], [C]])).toThrow(
    "no later step takes D, which step a gives: add a step, or name it in `ends`",
  );
  expect(refused(["a", [A], [B, D], { ends: [D] }], ["b", [B], [C]])).not.toThrow();
  expect(refused(["a", [A], [B]], ["b", [B], [C]], ["c", [A], [D]])).toThrow(
    "step c takes A, but step b gives C",
  );
  expect(refused(["a", [A], [B]], ["b", [B], [C]], ["c", [B], [D]])).toThrow("no later step takes C");
  // The two events never come together.
  expect(refused(["a", [A], [B, C]], ["b", [B, C], [D]])).toThrow(
    "step b waits for B and C, but there is a branch with B and without C, on which it would wait for ever",
  );
  expect(refused(["a", [A], [B]], ["b", [B], [C]], ["c", [B], [C]], ["d", [C], [D]])).toThrow(
    "two steps of one branch give C, so step d, which takes it, would begin twice",
  );
  // Two branches may meet again.
  expect(refused(["a", [A], [B, C]], ["b", [B], [D]], ["c", [C], [D]], ["d", [D], [E]])).not.toThrow();
  expect(refused(["a", [A], [B], { ends: [B] }], ["b", [B], [C]])).toThrow(
    "ends with B, but a later step takes it",
  );
  expect(
    refused(["a", [A], [B]], ["b", [B], [C], { deadline: "1m" }], ["c", [B], [D]], ["d", [C, D], [E]]),
  ).toThrow("step b may run beside another one, so it cannot have a deadline of its own");
  expect(refused(["a", [A], [B], { deadline: "1m" }], ["b", [B], [C]])).not.toThrow();
});

it("[F-24] `all`, `oneOf` and `ends` take what they can use, and nothing else", () => {
  expect(() => all(A, A)).toThrow("at least two different events");
  expect(() => oneOf(...([A] as unknown as [AnyEvent, AnyEvent]))).toThrow("at least two different events");
  expect(() => oneOf(A, {} as never)).toThrow("at least two different events");
  expect(() => several("h", [A], [B, No])).toThrow("two different events");
  expect(() =>
    handler("h", { on: oneOf(A, B) as never, ok: B, err: No, handle: () => undefined as never }),
  ).toThrow("`on` must be an event, made by `event(…)`, or `all(…)` of several");
  expect(() => step("a", several("h", [A], [B, C]), { ends: [D] as never })).toThrow(
    "`ends` must be a list of events that its handler gives: B, C",
  );
  expect(register({ events: [several("h", [A, B], [C])] })).toThrow(
    "Handler h takes all of A, B, so it must be a step of an event saga",
  );
  expect(register({ events: [several("h", [A], [B, C])] })).not.toThrow();
});

it("[F-24] a saga that waits for several events is not for an orchestrator with a worker of one's own", () => {
  const saga = chain("s", ...steps(["a", [A], [B]], ["b", [B], [D]], ["c", [B], [E]], ["d", [D, E], [F]]));
  const registry = new SagaRegistry([saga]);
  expect(() => new SagaOrchestrator({ registry } as never)).toThrow("step d waits for several events");
});

it("[F-01][F-03] bad definitions are refused with what is wrong", () => {
  expect(() => event("9", on)).toThrow("An event's name");
  expect(() => event("X", {} as never)).toThrow("Standard Schema");
  expect(() => event("X", on, { version: 2 })).toThrow("needs an `upcast`");
  expect(() => event("X", on, { version: 0 })).toThrow("whole number");
  expect(() => handler("h", { on: A, ok: B, err: B, handle: () => ok(B({ key: "" })) })).toThrow(
    "two different events",
  );
  expect(() => handler("h", { on: A, ok: B } as never)).toThrow("`err` must be an event");
  expect(() => handler("h", { on: A, ok: B, err: No } as never)).toThrow("`handle` must be a function");
  expect(() =>
    handler("h", { on: A, ok: B, err: No, handle: () => err(No({ key: "" })), tries: 3 } as never),
  ).toThrow("no option named tries");
  expect(() => step("x", {} as never)).toThrow("needs a handler");
  expect(register({ events: [{}] })).toThrow(
    "`events` takes what `handler(…)`, `consumer(…)` and `eventSaga(…)` make",
  );
  expect(register({ events: {} })).toThrow("`events` must be a list");
  const ofPostgres = handler("p", {
    on: A,
    ok: B,
    err: No,
    transaction,
    handle: ({ key }) => ok(B({ key })),
  });
  expect(register({ events: [ofPostgres] })).toThrow("wants a transaction of postgres");
});

it("[F-02][K-20] data that does not fit is refused when the event is made, naming the field and never the value", () => {
  const make = (data: unknown, options?: object) => (): unknown => A(data as never, options);
  expect(make({ key: 7 })).toThrow("does not fit its schema: key");
  expect(make(null)).toThrow("the whole");
  expect(make({ key: "secret-7", id: "x" })).not.toThrow();
  expect(() => event("R", z.looseObject({}))({ id: "x" })).toThrow("belongs to the event itself");
  expect(make({ key: "\0" })).toThrow("NUL");
  expect(make({ key: "x" }, { id: "no uuid" })).toThrow("UUID");
  expect(make({ key: "x" }, { correlation: "" })).toThrow("must not be empty");
  expect(() =>
    event("P", { "~standard": { version: 1, vendor: "t", validate: async () => ({ value: {} }) } } as never)(
      {},
    ),
  ).toThrow("asynchronous");
});

it("[F-03] a step cannot be changed", () => {
  const one = step("one", link("h", A, B), { compensation: Undo });
  expect(() => Object.assign(one, { compensation: undefined })).toThrow(TypeError);
  expect(one.compensation).toBe(Undo);
});

it("[F-03] a step checks its events", () => {
  const one = step("one", link("h", A, B));
  expect(() => one.checkSuccess(B({ key: "x" }))).not.toThrow();
  expect(() => one.checkFailure(No({ key: "x" }))).not.toThrow();
  expect(() => one.checkSuccess(No({ key: "x" }))).toThrow("Step one promises B, but handler h returned No");
  expect(() => one.checkFailure(undefined)).toThrow(SagaContractViolation);
});
