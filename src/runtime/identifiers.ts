/** Where ids come from. */
import { randomFillSync } from "node:crypto";
import { V7Generator } from "uuidv7";

/** Asking the system for a few bytes at a time costs more than everything else about an id. */
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

/** Sorts by the time it was made. */
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

/** Put together letter by letter, a text costs as many objects as it has letters. Here it is made in one piece. */
const text = Buffer.alloc(36);
const DIGITS = Buffer.from("0123456789abcdef");
const DASH = "-".charCodeAt(0);
