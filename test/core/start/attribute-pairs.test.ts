import fc from "fast-check";
import { expect, it } from "vitest";
import { attributePairs, parseAttributes } from "../../../src/core/start/attribute-pairs.ts";
import type { AttributeValue } from "../../../src/core/start/attributes.ts";

const read = (text: string) => parseAttributes(text, "--attributes");

it("[S-39] attributes are written as pairs, and a value is a number or a boolean where it reads as one", () => {
  expect(read("tenant=acme")).toEqual({ tenant: "acme" });
  expect(read("tenant=acme corp, tier=2 ,vip=true,at=a=b,empty=")).toEqual({
    tenant: "acme corp",
    tier: 2,
    vip: true,
    at: "a=b",
    empty: "",
  });
  expect(read('tier="2",name="a, \\"b\\""')).toEqual({ tier: "2", name: 'a, "b"' });
  expect(read("nothing=null,list=[1]")).toEqual({ nothing: "null", list: "[1]" });
});

it("[S-39] what is no list of pairs is refused", () => {
  for (const text of ["", "tenant", "tenant=acme,", ",tenant=acme", "=acme", "a=1,a=2", "9=1", 'a="b"c,d=1'])
    expect(() => read(text)).toThrow(/--attributes/);
});

it("[S-39] what is shown reads back as what it was", () => {
  const value: fc.Arbitrary<AttributeValue> = fc.oneof(
    fc.string({ maxLength: 40 }).filter((text) => !text.includes("\0")),
    fc.boolean(),
    fc.integer(),
    fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => number + 0),
  );
  const name = fc.stringMatching(/^[A-Za-z][\w.-]{0,10}$/);
  fc.assert(
    fc.property(fc.dictionary(name, value, { minKeys: 1, maxKeys: 5, noNullPrototype: true }), (given) => {
      expect(read(attributePairs(given).join(","))).toEqual(given);
    }),
  );
});
