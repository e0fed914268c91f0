/** Every type of audit event is written by some part. */
import { expect, it } from "vitest";
import { AUDIT_TYPES } from "../../src/audit/event.ts";
import { readTexts } from "../../tools/doors/sources.mjs";
import { root } from "../../tools/project.mjs";

it("[E-09] every type of audit event has a part that writes it", () => {
  const others = readTexts(root, ["src"]).filter(({ file }) => !file.endsWith("audit/event.ts"));
  // Some are written as two words: event("ERASURE", "REQUESTED", …).
  const isWritten = (type: string): boolean =>
    [type, type.replace(/^[A-Z]+_/, "")].some((word) =>
      others.some(({ text }) => text.includes(`"${word}"`)),
    );
  expect(AUDIT_TYPES.filter((type) => !isWritten(type))).toEqual([]);
});
