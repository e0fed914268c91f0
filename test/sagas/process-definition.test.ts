import { saga, signal } from "amends";
import { defineCall } from "amends/calls";
import { event } from "amends/events";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { decodePlan, encodePlan, misfit } from "../../src/core/saga/plan.ts";

const nothing = z.object({});
const act = (): number => 1;
const paid = signal("paid", nothing);
const Paid = event("Paid", z.object({ order: z.string() }));
const call = defineCall("tell", { schema: nothing, handle: act });
const child = saga("child", nothing).step("a", { act });

/** What users of plain JavaScript can write: the compiler refuses all of it. */
type Loose = Record<
  | "each"
  | "when"
  | "repeat"
  | "saga"
  | "waitFor"
  | "step"
  | "pivot"
  | "onCompleted"
  | "onFailed"
  | "onStalled",
  (...given: unknown[]) => Loose
>;
const loose = (): Loose => saga("loose", nothing) as unknown as Loose;
const each = { over: () => [], key: () => "k", act };
const repeat = { act, until: () => true, every: "1h", max: 3 };
const branch = (given: unknown): unknown => (given as Loose).step("b", { act });

describe("[S-01] definitions that do not make sense are refused, and say why", () => {
  const refused: readonly (readonly [string, () => unknown, RegExp])[] = [
    ["no list", () => loose().each("e", { ...each, over: [] }), /`over` must be a function/],
    ["no key", () => loose().each("e", { ...each, key: undefined }), /`key` must be a function/],
    ["no concurrency", () => loose().each("e", { ...each, concurrency: 0 }), /concurrency/],
    ["a deadline of a list", () => loose().each("e", { ...each, deadline: "1h" }), /no deadline/],
    ["an unknown option", () => loose().each("e", { ...each, limit: 3 }), /no option named limit/],
    ["no question", () => loose().when("w", true, branch), /its question must be a function/],
    ["no branch", () => loose().when("w", () => true), /adds the steps of a branch/],
    [
      "an empty branch",
      () =>
        loose().when(
          "w",
          () => true,
          (given: unknown) => given,
        ),
      /no steps/,
    ],
    [
      "a branch that is not returned",
      () =>
        loose().when(
          "w",
          () => true,
          () => 1,
        ),
      /must return the branch/,
    ],
    [
      "a pivot in a branch",
      () =>
        loose().when(
          "w",
          () => true,
          (given: Loose) => given.pivot("p", { act }),
        ),
      /pivot/,
    ],
    [
      "one name in both branches",
      () => loose().when("w", () => true, branch, branch),
      /already a step of that name/,
    ],
    ["no wait between rounds", () => loose().repeat("r", { ...repeat, every: undefined }), /`every`/],
    ["no number of rounds", () => loose().repeat("r", { ...repeat, max: undefined }), /1 to 1000/],
    ["too many rounds", () => loose().repeat("r", { ...repeat, max: 1_001 }), /1 to 1000/],
    ["no end of rounds", () => loose().repeat("r", { ...repeat, until: true }), /`until` must be a function/],
    [
      "two ends of rounds",
      () => loose().repeat("r", { ...repeat, until: { signal: paid, event: Paid } }),
      /one of the two/,
    ],
    ["another end", () => loose().repeat("r", { ...repeat, onMax: "stop" }), /`onMax` is/],
    [
      "rounds that fail behind the pivot",
      () =>
        loose()
          .pivot("p", { act })
          .repeat("r", { ...repeat, onMax: "fail" }),
      /only goes forward/,
    ],
    ["no child", () => loose().saga("c", {}, { input: () => ({}) }), /must be made by `saga/],
    [
      "a child without steps",
      () => loose().saga("c", saga("empty", nothing), { input: () => ({}) }),
      /has no steps/,
    ],
    ["a child without input", () => loose().saga("c", child, {}), /`input` must be a function/],
    [
      "a child with a pivot before the pivot",
      () => loose().saga("c", child.pivot("p", { act }), { input: () => ({}) }),
      /cannot be taken back/,
    ],
    [
      "an end without anything",
      () => loose().onCompleted({}),
      /`transaction` and `act`, or `call` and `input`/,
    ],
    ["an end without a transaction", () => loose().onFailed({ act }), /`transaction` and `act`/],
    ["no call", () => loose().onStalled({ call: {}, input: act }), /must be made by `defineCall/],
    [
      "an end twice",
      () => loose().onStalled({ call, input: act }).onStalled({ call, input: act }),
      /says twice/,
    ],
    ["a step that is called as an end is", () => loose().step("onFailed", { act }), /this name is kept/],
    ["one alternative", () => loose().waitFor("w", { any: { a: "1h" } }), /at least two/],
    [
      "one signal twice",
      () => loose().waitFor("w", { any: { a: { signal: paid }, b: { signal: paid } } }),
      /one signal twice/,
    ],
    [
      "an alternative without a match",
      () => loose().waitFor("w", { any: { a: { event: Paid }, b: "1h" } }),
      /`where` must name/,
    ],
    [
      "a match by a field of every event",
      () => loose().waitFor("w", { event: Paid, where: "id", equals: act }),
      /`where` names id, which belongs to the event itself/,
    ],
    [
      "a time limit beside alternatives",
      () => loose().waitFor("w", { any: { a: "1h", b: "2h" }, timeout: "1h" }),
      /timeout/,
    ],
  ];
  for (const [what, define, message] of refused) it(what, () => expect(define).toThrow(message));
});

describe("plans", () => {
  const order = saga("order", z.object({ order: z.string() }))
    .each("reserve", { ...each, compensate: act, concurrency: 5 })
    .when(
      "large",
      () => true,
      (given) =>
        given.waitFor("approval", { signal: paid, timeout: "1m", onTimeout: "continue" }).when(
          "huge",
          () => true,
          (deep) => deep.step("ask", { act }),
        ),
      (given) => given.parallel("both", (group) => group.step("p", { act }).step("q", { act })),
    )
    .repeat("remind", { act, until: { signal: paid }, every: "3d", max: 5, delay: "1h", compensate: act })
    .repeat("poll", { act, until: () => true, every: "1m", max: 5, onMax: "fail" })
    .waitFor("decision", {
      any: {
        paid: { event: Paid, where: "order", equals: ({ input }) => input.order },
        cancelled: { signal: paid },
        late: "30d",
      },
    })
    .saga("ship", child, { input: () => ({}) });

  it("[S-30] every kind of step is stored as a short text, and read back as it was", () => {
    const text = encodePlan(order.plan);
    expect(text).toBe(
      "reserve~:*5 large:^ approval:paid/60000+@large+ huge:^@large+ ask@huge+ p:&both@large- q:&both@large- " +
        "remind~:%5/259200000/3600000:paid poll:%5/60000! decision:{paid:$Paid,cancelled:paid,late/2592000000} ship~:>child",
    );
    expect(decodePlan(text)).toEqual(order.plan);
  });

  it("[S-30] what changed is said in words", () => {
    const changes: readonly (readonly [string, string, RegExp])[] = [
      ["a:*5", "a", /no longer acts for each item/],
      ["a:%5/60000", "a:%5/60000:paid", /repeats until signal paid, not until its round says so/],
      ["a:>child", "a:>other", /is the child saga other, not child/],
      ["a:^ b@a+", "a:^ b@a-", /moved from the branch of a to the other branch of a/],
      ["a:^ b@a+", "a:^ b", /moved out of the branch of a/],
      ["a:{x:s,y/5}", "a:{x:s,z/5}", /waits for the first of/],
    ];
    for (const [recorded, now, message] of changes)
      expect(misfit(decodePlan(recorded), decodePlan(now))).toMatch(message);
    expect(misfit(decodePlan("a:*5 b:%5/60000"), decodePlan("a:*9 b:%7/90000"))).toBeUndefined();
  });

  it("[S-30] a text that is no plan is refused", () => {
    for (const text of ["a:*0", "a:%0/5", "a:%5", "a:{x", "a:{}", "a@b+", "a:^ b@a", "a:*5 b|", "a:>"])
      expect(() => decodePlan(text)).toThrow(/cannot be read/);
  });
});
