import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { AmendsError } from "../../src/core/errors.ts";
import {
  checkId,
  checkName,
  idempotencyKey,
  isWellFormed,
  NAME_MAX,
  SAGA_ID_MAX,
} from "../../src/core/identity.ts";
import { anyText } from "../support/any-text.ts";

const LONG = "x".repeat(1_048_576);

function refusal(call: () => unknown): AmendsError | undefined {
  try {
    call();
    return undefined;
  } catch (error) {
    if (error instanceof AmendsError) return error;
    throw error;
  }
}

describe("ids that a caller chose", () => {
  const wrong: readonly [string, unknown][] = [
    ["nothing", ""],
    ["one character too many", "x".repeat(SAGA_ID_MAX + 1)],
    ["a megabyte", LONG],
    ["a NUL", "a\0b"],
    ["only a NUL", "\0"],
    ["half of a surrogate pair", "a\ud800"],
    ["the other half", "\udc00b"],
    ["a number", 7],
    ["null", null],
    ["undefined", undefined],
    ["an object with toString", { toString: () => "id" }],
    ["an array", ["id"]],
  ];

  it.each(wrong)("[K-20] %s is refused, and the error says which field", (_, id) => {
    const error = refusal(() => checkId(id, "The id of a saga"));
    expect(error).toMatchObject({ code: "BAD_ID", details: { field: "The id of a saga" } });
    expect(error?.message).toMatch(/^The id of a saga must /);
    expect(error?.message.length).toBeLessThan(200);
  });

  it.each([
    "a",
    "x".repeat(SAGA_ID_MAX),
    "__proto__",
    "constructor",
    "' or 1=1 --",
    "مرحبا\u202eabc",
    "👩‍👩‍👧",
    "a b",
    "\n",
    "../../etc",
    "%00",
    "a:b:act",
  ])("[K-20] %j is an id like any other", (id) => {
    expect(checkId(id, "it")).toBe(id);
  });

  it("[K-20] every text is either taken as it is or refused", () => {
    fc.assert(
      fc.property(anyText({ maxLength: 400 }), (text) => {
        const error = refusal(() => expect(checkId(text, "it")).toBe(text));
        const fits =
          text.length > 0 && text.length <= SAGA_ID_MAX && !text.includes("\0") && isWellFormed(text);
        expect(error === undefined).toBe(fits);
      }),
    );
  });
});

describe("names of sagas and steps", () => {
  it.each([
    "",
    "1a",
    "-a",
    "$claim",
    "a b",
    "a:b",
    "a\0",
    "ä",
    "a\n",
    "__proto__",
    LONG,
    "x".repeat(NAME_MAX + 1),
    7,
    null,
  ])("[K-20] a bad name is refused (%#)", (name) => {
    expect(refusal(() => checkName(name, "A step's name"))).toMatchObject({
      code: "BAD_DEFINITION",
      details: { field: "A step's name" },
    });
  });

  it.each(["a", "A.b-c_9", "x".repeat(NAME_MAX), "constructor", "toString"])(
    "[K-20] %s is a name",
    (name) => {
      expect(checkName(name, "it")).toBe(name);
    },
  );
});

describe("idempotency keys", () => {
  const ids = fc.string({ minLength: 1, maxLength: SAGA_ID_MAX });
  const names = fc.stringMatching(/^[A-Za-z][A-Za-z0-9_.-]{0,63}$/);
  const directions = fc.constantFrom("act" as const, "compensate" as const);

  it("[S-29] are distinct for every saga, step and direction, also where ids look like keys", () => {
    fc.assert(
      fc.property(fc.tuple(ids, names, directions), fc.tuple(ids, names, directions), (one, two) => {
        const same = one.every((part, index) => part === two[index]);
        expect(idempotencyKey(...one) === idempotencyKey(...two)).toBe(same);
      }),
    );
    expect(idempotencyKey("a:b", "c", "act")).not.toBe(idempotencyKey("a", "b", "act"));
  });

  it("[S-29] fit into the 255 characters that payment APIs take", () => {
    const longest = idempotencyKey("x".repeat(SAGA_ID_MAX), "y".repeat(NAME_MAX), "compensate");
    expect(longest.length).toBeLessThanOrEqual(255);
  });
});
