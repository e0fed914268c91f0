/** Generates ids. */
import { randomFillSync } from "node:crypto";
import { V7Generator } from "uuidv7";

/** Random bytes are read in bulk: one system call per id would dominate its cost. */
const pool = new Uint32Array(1_024);
let used = pool.length;

const generator = new V7Generator({
  nextUint32() {
    if (used === pool.length) {
      randomFillSync(pool);
      used = 0;
    }
    const next = pool[used] as number;
    pool[used++] = 0;
    return next;
  },
});

/** A UUID that sorts by its creation time (version 7). */
export function newId(): string {
  const { bytes } = generator.generate();
  let at = 0;
  for (let index = 0; index < bytes.length; index++) {
    if (index === 4 || index === 6 || index === 8 || index === 10) text[at++] = DASH;
    const byte = bytes[index] as number;
    text[at++] = DIGITS[byte >> 4] as number;
    text[at++] = DIGITS[byte & 15] as number;
  }
  return text.toString("latin1");
}

/** Builds the text in one piece: concatenating characters would allocate one string each. */
const text = Buffer.alloc(36);
const DIGITS = Buffer.from("0123456789abcdef");
const DASH = "-".charCodeAt(0);
