/**
 * Texts of any code points, for properties. The `binary` unit of fast-check makes the same, and builds a table of 1.1 million
 * code points first, which takes longer than most properties do.
 */
import fc from "fast-check";

const [SURROGATES_FROM, SURROGATES] = [0xd800, 0x800];

/** Every code point but the surrogates. */
const codePoint = fc.nat({ max: 0x10ffff - SURROGATES }).map(
  (index) => String.fromCodePoint(index < SURROGATES_FROM ? index : index + SURROGATES),
  // What a character is made of, so that fast-check can mix in texts of its own.
  (character) => {
    const point = typeof character === "string" ? (character.codePointAt(0) ?? -1) : -1;
    const isOther = point < 0 || (point >= SURROGATES_FROM && point < SURROGATES_FROM + SURROGATES);
    if (isOther || String.fromCodePoint(point) !== character) throw new Error("this is not one code point");
    return point < SURROGATES_FROM ? point : point - SURROGATES;
  },
);

export function anyText(length: { minLength?: number; maxLength?: number } = {}): fc.Arbitrary<string> {
  return fc.string({ unit: codePoint, ...length });
}
