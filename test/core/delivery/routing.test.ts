import { describe, expect, it } from "vitest";
import { checkEventType, checkPattern, patternsFor } from "../../../src/core/delivery/event-type.ts";
import { checkAttributes, checkFilter, passes, wants } from "../../../src/core/delivery/filter.ts";
import { checkSerial } from "../../../src/core/delivery/serial.ts";

describe("event types", () => {
  it("[W-19] fit the patterns that name them, a prefix of them, or all", () => {
    expect(patternsFor("order.item.added")).toEqual(["order.item.added", "order.*", "order.item.*", "*"]);
    expect(patternsFor("ping")).toEqual(["ping", "*"]);
    expect(patternsFor("amends.ping")).toEqual(["amends.ping", "amends.*"]);
  });

  it.each([
    "",
    ".",
    "order.",
    ".placed",
    "order..placed",
    "order placed",
    "1order",
    "ördér",
    "a".repeat(129),
    7,
    null,
  ])("[K-20] an event cannot have the type %j", (type) => {
    expect(() => checkEventType(type)).toThrow(expect.objectContaining({ code: "BAD_INPUT" }) as Error);
  });

  it("[K-20] types of Amends' own cannot be published, but can be subscribed to", () => {
    expect(() => checkEventType("amends.ping")).toThrow("Amends' own");
    expect(checkPattern("amends.*")).toBe("amends.*");
  });

  it.each(["", "*.placed", "order*", "order.*.x", "**", "order.**", ".*", 5])(
    "[K-20] a subscription cannot want %j",
    (pattern) => {
      expect(() => checkPattern(pattern)).toThrow(expect.objectContaining({ code: "BAD_OPTION" }) as Error);
    },
  );
});

describe("filters", () => {
  it("[W-19] ask for every attribute that they name, and for one of its values", () => {
    const filter = checkFilter({ region: ["eu", "us"], tier: "gold" });
    expect(passes(filter, { region: "us", tier: "gold", more: "x" })).toBe(true);
    expect(passes(filter, { region: "us" })).toBe(false);
    expect(passes(filter, { region: "asia", tier: "gold" })).toBe(false);
    expect(passes({}, {})).toBe(true);
    expect(passes(checkFilter({ toString: "x" }), {})).toBe(false);
    expect(wants({ events: ["order.*"], filter: {} }, { type: "order", attributes: {} })).toBe(false);
  });

  it.each([
    [{ "a=b": "x" }],
    [{ "": "x" }],
    [{ a: [] }],
    [{ a: "x".repeat(256) }],
    [{ a: "\0" }],
    [{ a: "\ud800" }],
    [{ a: { b: 1 } }],
    ["text"],
    [Object.fromEntries(Array.from({ length: 33 }, (_, n) => [`a${n}`, "x"]))],
  ])("[K-20] %j is refused", (filter) => {
    expect(() => checkFilter(filter)).toThrow(expect.objectContaining({ code: "BAD_INPUT" }) as Error);
  });

  it("[K-20] numbers and truth values are attributes as texts", () => {
    expect(checkAttributes({ n: 5, yes: true })).toEqual({ n: "5", yes: "true" });
    expect(() => checkAttributes({ list: ["a"] })).toThrow("attributes");
  });
});

it.each(["", "0", "-1", "1.5", "1e3", "x", "9".repeat(19), 5, undefined])(
  "[K-20] %j is no id of a row",
  (id) => {
    expect(() => checkSerial(id, "a delivery")).toThrow(expect.objectContaining({ code: "BAD_ID" }) as Error);
  },
);
