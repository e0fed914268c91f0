import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { AmendsError } from "../../src/core/errors.ts";
import { BYTES_MAX, canonicalJson, DEPTH_MAX, encodeJson } from "../../src/core/json.ts";

const door = { field: "The input of saga x" };

function nested(depth: number): unknown {
  let value: unknown = 1;
  for (let level = 0; level < depth; level++) value = level % 2 === 0 ? { a: value } : [value];
  return value;
}

/** Anything but its own kind of error goes through. */
function refusalOf(
  value: unknown,
  options: Parameters<typeof encodeJson>[1] = door,
): AmendsError | undefined {
  try {
    encodeJson(value, options);
    return undefined;
  } catch (error) {
    if (error instanceof AmendsError) return error;
    throw error;
  }
}

function reasonFor(value: unknown, options: Parameters<typeof encodeJson>[1] = door): string {
  const error = refusalOf(value, options);
  if (error === undefined) return "";
  expect(error).toMatchObject({ code: options.code ?? "BAD_JSON", details: { field: door.field } });
  return error.message;
}

describe("what may be stored", () => {
  it("[K-20] 64 levels are taken, 65 are refused", () => {
    expect(encodeJson(nested(DEPTH_MAX), door)).toContain("1");
    expect(reasonFor(nested(DEPTH_MAX + 1))).toContain("deeper than 64 levels");
  });

  it("[K-20] a hundred thousand levels are refused without exhausting the stack", () => {
    expect(reasonFor(nested(100_000))).toContain("deeper than 64 levels");
  });

  it("[K-20] a wide value whose tree is huge only by sharing is refused before it is written out", () => {
    let bomb: unknown = ["x"];
    for (let level = 0; level < 50; level++) bomb = [bomb, bomb];
    expect(reasonFor(bomb)).toContain("larger than");
  });

  it("[K-20] one mebibyte is taken, one byte more is refused", () => {
    expect(encodeJson("x".repeat(BYTES_MAX - 2), door)).toHaveLength(BYTES_MAX);
    expect(reasonFor("x".repeat(BYTES_MAX - 1))).toContain("larger than");
  });

  it("[K-20] the limit counts bytes, not characters", () => {
    for (const [character, bytes] of [
      ["é", 2],
      ["€", 3],
      ["😀", 4],
    ] as const) {
      const fits = Math.floor((BYTES_MAX - 2) / bytes);
      expect(Buffer.byteLength(encodeJson(character.repeat(fits), door) as string)).toBeLessThanOrEqual(
        BYTES_MAX,
      );
      expect(reasonFor(character.repeat(fits + 1))).toContain("larger than");
    }
  });

  it.each([
    ["a NUL in a text", { a: "x\0y" }],
    ["a NUL in a key", { "x\0": 1 }],
    ["half of a surrogate pair", ["\ud83d"]],
    ["a NUL behind a backslash", "\\\0"],
  ])("[K-20] %s is refused, except where the door allows it", (_, value) => {
    expect(reasonFor(value)).toContain("NUL");
    expect(JSON.parse(encodeJson(value, { ...door, allowNul: true }) as string)).toEqual(value);
  });

  it.each([["\\u0000"], ["a\\\\u0000b"], ["\\ud800"], ["\\\\"], ["\u0001"], ["\u2028"]])(
    "[K-20] the text %j only looks like a NUL and is taken",
    (text) => {
      expect(JSON.parse(encodeJson({ text }, door) as string)).toEqual({ text });
    },
  );

  it("[K-20] a key named __proto__ is refused at every depth, also from JSON.parse", () => {
    expect(reasonFor(JSON.parse('{"__proto__":{"admin":true}}'))).toContain("__proto__");
    expect(reasonFor(JSON.parse('{"a":[{"b":{"__proto__":1}}]}'))).toContain("__proto__");
    expect(encodeJson(Object.create(null), door)).toBe("{}");
  });

  it("[K-20] cycles, bigints, functions, symbols and a toJSON that throws are refused", () => {
    const cycle: { self?: unknown } = {};
    cycle.self = cycle;
    expect(reasonFor(cycle)).toContain("contains itself");
    for (const value of [1n, { a: 1n }, () => 1, Symbol("s")])
      expect(reasonFor(value)).toContain("cannot be written");
    const thrower = {
      toJSON: () => {
        throw new Error("canary");
      },
    };
    expect(reasonFor({ a: thrower })).toContain("cannot be written");
    expect(reasonFor({ a: thrower })).not.toContain("canary");
  });

  it("[K-20] what toJSON returns is held to the same limits as what is given", () => {
    expect(encodeJson(new Date(0), door)).toBe('"1970-01-01T00:00:00.000Z"');
    expect(reasonFor({ toJSON: () => "x".repeat(BYTES_MAX) })).toContain("larger than");
    expect(reasonFor({ toJSON: () => ({ text: "\0" }) })).toContain("NUL");
  });

  it("[K-20] undefined is nothing, and the given code is used", () => {
    expect(encodeJson(undefined, door)).toBeNull();
    expect(encodeJson(null, door)).toBe("null");
    reasonFor(1n, { ...door, code: "BAD_INPUT" });
  });

  it("[K-20] every JSON value comes back as it was, or is refused with a typed error", () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 5 }), (value) => {
        if (refusalOf(value)) return;
        expect(JSON.parse(encodeJson(value, door) as string)).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });

  it("[K-20] anything at all is encoded or refused, never thrown as something else", () => {
    fc.assert(
      fc.property(
        fc.anything({ withBigInt: true, withDate: true, withMap: true, withNullPrototype: true }),
        (value) => {
          expect(refusalOf(value)?.message ?? door.field).toContain(door.field);
        },
      ),
    );
  });

  it("[K-20] a value that resists being looked at is refused, not thrown through", () => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    const getter = {
      get a(): never {
        throw new Error("canary");
      },
    };
    expect(reasonFor(getter)).not.toContain("canary");
    expect(reasonFor(proxy)).not.toBe("");
    expect(reasonFor([proxy])).not.toBe("");
  });
});

describe("comparing inputs", () => {
  it("[S-18] the order of keys does not matter, anything else does", () => {
    expect(canonicalJson({ b: 1, a: { d: 2, c: [1, 2] } })).toBe(
      canonicalJson({ a: { c: [1, 2], d: 2 }, b: 1 }),
    );
    expect(canonicalJson([1, 2])).not.toBe(canonicalJson([2, 1]));
    expect(canonicalJson({ a: 1 })).not.toBe(canonicalJson({ a: "1" }));
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (value) => {
        const turned = Object.fromEntries(Object.entries(value).toReversed());
        expect(canonicalJson(turned)).toBe(canonicalJson(value));
      }),
    );
  });
});

it("[K-20] a number that JSON cannot hold is refused wherever it stands, also by itself", () => {
  for (const value of [Number.NaN, Number.POSITIVE_INFINITY, [Number.NaN], { a: Number.NEGATIVE_INFINITY }])
    expect(reasonFor(value)).toMatch(/NaN or Infinity, which JSON cannot hold/);
});
