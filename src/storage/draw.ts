/** Random numbers for claim tokens, read in bulk because one system call per number is slower. */
import { randomFillSync } from "node:crypto";

const drawn = new Uint32Array(256);
let used = drawn.length;

/** A whole number below 2^32. */
export function draw(): number {
  if (used === drawn.length) {
    randomFillSync(drawn);
    used = 0;
  }
  return drawn[used++] as number;
}
