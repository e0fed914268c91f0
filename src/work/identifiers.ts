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
  return generator.generate().toString();
}
