/**
 * Arrays in PostgreSQL's binary format: one parameter holds a whole column, without quoting, escaping or parsing.
 * It costs both sides less than half of the text format.
 */
import { Buffer } from "node:buffer";
import type { FieldType } from "../column.ts";
import type { ArrayFormat } from "./rows.ts";

const TYPE_IDS: Readonly<Record<FieldType, number>> = {
  uuid: 2950,
  text: 25,
  int: 23,
  bigint: 20,
  float8: 701,
};
const NULL_LENGTH = -1;

/** The buffer in which arrays are encoded. It grows with the largest array, up to a limit. */
let scratch = Buffer.allocUnsafe(65_536);
const SCRATCH_KEPT_MAX = 4_194_304;
let at = 0;

/** The place of the number of elements, behind the dimensions, the flag of nulls and the type. */
const COUNT_AT = 12;

/** Encodes one value of each object, reading it while writing. Nulls at the end are left out. */
function arrayOf<From>(type: FieldType, from: readonly From[], valueOf: (one: From) => unknown): Buffer {
  at = 0;
  const write = WRITERS[type];
  reserve(20);
  putInt(1); // dimensions
  putInt(1); // has nulls
  putInt(TYPE_IDS[type]);
  putInt(from.length);
  putInt(1); // the first index
  let end = at;
  let nulls = 0;
  for (const one of from) {
    const value = valueOf(one);
    if (value === undefined || value === null) {
      reserve(4);
      putInt(NULL_LENGTH);
      nulls++;
    } else {
      write(value);
      end = at;
      nulls = 0;
    }
  }
  if (nulls === from.length) return EMPTY[type];
  if (nulls > 0) {
    at = COUNT_AT;
    putInt(from.length - nulls);
  }
  const array = Buffer.from(scratch.subarray(0, end));
  if (scratch.length > SCRATCH_KEPT_MAX) scratch = Buffer.allocUnsafe(65_536);
  return array;
}

export const BINARY_ARRAYS: ArrayFormat = { encode: arrayOf, around: (type) => ["", `::${type}[]`] };

/** The empty array of each type: no dimensions and no elements. */
const EMPTY = Object.fromEntries(
  Object.entries(TYPE_IDS).map(([type, id]) => {
    const empty = Buffer.alloc(COUNT_AT);
    empty.writeInt32BE(id, 8);
    return [type, empty];
  }),
) as Record<FieldType, Buffer>;

function reserve(bytes: number): void {
  if (at + bytes <= scratch.length) return;
  const larger = Buffer.allocUnsafe(Math.max(scratch.length * 2, at + bytes));
  scratch.copy(larger, 0, 0, at);
  scratch = larger;
}

/** Writing the bytes one by one is faster than the methods of Buffer. */
function putInt(value: number): void {
  scratch[at] = value >>> 24;
  scratch[at + 1] = value >>> 16;
  scratch[at + 2] = value >>> 8;
  scratch[at + 3] = value;
  at += 4;
}

const WRITERS: Readonly<Record<FieldType, (value: unknown) => void>> = {
  text: (value) => putText(typeof value === "string" ? value : String(value)),
  int(value) {
    const int = integerOf(value);
    if (int !== ((int as number) | 0)) throw new TypeError("amends: not a 32-bit integer");
    reserve(8);
    putInt(4);
    putInt(int);
  },
  bigint(value) {
    reserve(12);
    putInt(8);
    const int = integerOf(value);
    if (typeof int === "number") {
      putInt(Math.floor(int / 2 ** 32));
      putInt(int >>> 0);
    } else at = scratch.writeBigInt64BE(int, at);
  },
  float8(value) {
    if (typeof value !== "number") throw new TypeError("amends: not a number");
    reserve(12);
    putInt(8);
    at = scratch.writeDoubleBE(value, at);
  },
  uuid: (value) => putUuid(String(value)),
};

/** A number if it is exact. A text that is not an integer is refused. */
function integerOf(value: unknown): number | bigint {
  if (Number.isSafeInteger(value)) return value as number;
  if (typeof value === "bigint") return value;
  if (typeof value !== "string" || !DIGITS_ONLY.test(value)) throw new TypeError("amends: not an integer");
  return value.length <= SAFE_LENGTH ? Number(value) : BigInt(value);
}

/** Short texts are nearly always ASCII, and encoding them character by character is fastest. */
const SHORT_MAX = 128;

function putText(text: string): void {
  const { length } = text;
  reserve(4 + length * 3);
  const start = at;
  at += 4;
  let i = 0;
  if (length <= SHORT_MAX) {
    for (; i < length; i++) {
      const code = text.charCodeAt(i);
      if (code > 127) break;
      scratch[at + i] = code;
    }
  }
  const bytes = i === length ? length : scratch.write(text, at);
  at = start;
  putInt(bytes);
  at += bytes;
}

const DIGITS_ONLY = /^-?\d{1,19}$/;
/** The number of digits that a number holds exactly. */
const SAFE_LENGTH = 15;

const DASH = 45;
const NO_DIGIT = 255;
const DIGITS = new Uint8Array(128).fill(NO_DIGIT);
for (let digit = 0; digit < 16; digit++) {
  const text = digit.toString(16);
  DIGITS[text.charCodeAt(0)] = digit;
  DIGITS[text.toUpperCase().charCodeAt(0)] = digit;
}
/** The position of each byte's two digits in the text. */
const PLACES = Uint8Array.from(
  Array.from({ length: 36 }, (_, place) => place).filter((place) => ![8, 13, 18, 23].includes(place)),
);

function putUuid(text: string): void {
  reserve(20);
  putInt(16);
  if (text.length !== 36 || text.charCodeAt(8) !== DASH || text.charCodeAt(13) !== DASH) throw notUuid();
  if (text.charCodeAt(18) !== DASH || text.charCodeAt(23) !== DASH) throw notUuid();
  for (let i = 0; i < 32; i += 2) {
    const high = DIGITS[text.charCodeAt(PLACES[i] as number)] ?? NO_DIGIT;
    const low = DIGITS[text.charCodeAt(PLACES[i + 1] as number)] ?? NO_DIGIT;
    if ((high | low) > 15) throw notUuid();
    scratch[at++] = (high << 4) | low;
  }
}

function notUuid(): TypeError {
  return new TypeError("amends: not a UUID");
}
