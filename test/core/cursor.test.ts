import fc from "fast-check";
import { expect, it } from "vitest";
import { cursor, isCount, isInstant, isText } from "../../src/core/cursor.ts";
import { isSerial } from "../../src/core/delivery/serial.ts";
import { isUuid } from "../../src/core/flow/sealed.ts";

const place = cursor<[number, string]>(isInstant, isText);

it("[K-20] a cursor brings back what it was made of, in a text that needs no escaping", () => {
  const instants = fc.double({ min: 0, max: 8.64e15, noNaN: true }).map((ms) => (ms === 0 ? 0 : ms));
  const ids = fc.string({ unit: "grapheme", maxLength: 180 }).filter((id) => !id.includes("\0"));
  fc.assert(
    fc.property(instants, ids, (atMs, id) => {
      const text = place.encode(atMs, id);
      expect(text).toMatch(/^[\w-]+$/);
      expect(place.decode(text)).toEqual([atMs, id]);
    }),
  );
  expect(place.decode(undefined)).toBeUndefined();
});

it("[K-20] an instant keeps its fraction of a millisecond", () => {
  expect(place.decode(place.encode(1_700_000_000_000.123, "a"))).toEqual([1_700_000_000_000.123, "a"]);
});

const other = cursor<[string, number]>(isText, isCount);
const plain = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");

it.each([
  ["nothing", ""],
  ["no base64", "[1,2]"],
  ["no JSON", "abc"],
  ["no array", plain({ 0: 1, 1: "a", length: 2 })],
  ["too few elements", plain([1])],
  ["too many elements", plain([1, "a", 2])],
  ["another shape", other.encode("a", 1)],
  ["an instant before 1970", plain([-1, "a"])],
  ["an instant that no Date can be", plain([8.64e15 + 2, "a"])],
  ["a text that no database holds", plain([1, "\0"])],
  ["half of a surrogate pair", plain([1, "\ud800"])],
  ["a text that is too long", place.encode(1, "x".repeat(2_000))],
  ["no text at all", 7 as never],
])("[K-20] a cursor that no page ended with is refused with one sentence: %s", (_, after) => {
  const message = "`after` must be the `next` of the previous page.";
  expect(() => place.decode(after)).toThrow(
    expect.objectContaining({ code: "BAD_OPTION", message, details: { field: "after" } }),
  );
});

it("[K-20] each kind of id has a shape of its own", () => {
  expect(["1", "12", "0", "01", "x", "1".repeat(19)].map((id) => isSerial(id))).toEqual([
    true,
    true,
    false,
    false,
    false,
    false,
  ]);
  expect([isUuid("0190a3f2-0000-7000-8000-000000000000"), isUuid("x")]).toEqual([true, false]);
  expect([isCount(0), isCount(1.5), isCount(-1), isCount(2 ** 53)]).toEqual([true, false, false, false]);
});
