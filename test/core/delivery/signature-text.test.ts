import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  isWebhookId,
  readSignatures,
  readTimestamp,
  writeSignatures,
} from "../../../src/core/delivery/signature-text.ts";

describe("the texts of signatures", () => {
  it("[W-16] what is written is read again", () => {
    const signature = fc.record({
      version: fc.constantFrom("v1" as const, "v1a" as const),
      value: fc.base64String(),
    });
    fc.assert(
      fc.property(fc.array(signature, { minLength: 1, maxLength: 16 }), (signatures) => {
        expect(readSignatures(writeSignatures(signatures))).toEqual(signatures);
      }),
    );
  });

  it("[W-16] versions that are not known are passed over, and only whole ones are known", () => {
    expect(readSignatures("v2,aaaa v1,bbbb v1b,cccc V1,dddd v11,eeee v1")).toEqual([
      { version: "v1", value: "bbbb" },
    ]);
    for (const nothing of ["", " ", ",", "v1", "v", "v1:aaaa", "v1 aaaa", " v1aaaa,", ",v1"]) {
      expect([nothing, readSignatures(nothing)]).toEqual([nothing, []]);
    }
  });

  it("[W-16] more than a receiver could want to try is nothing at all", () => {
    const many = (n: number): string => Array.from({ length: n }, () => "v1,aaaa").join(" ");
    expect([readSignatures(many(16)).length, readSignatures(many(17)).length]).toEqual([16, 0]);
    expect(readSignatures(`v1,${"a".repeat(5_000)}`)).toEqual([]);
  });

  it("[W-16] an id has no dot, no space and no line break", () => {
    expect(["msg_1", "a", "~", "01J9-x:y/z", "a".repeat(255)].map(isWebhookId)).not.toContain(false);
    expect(
      ["", "a.b", ".", "a b", "a\nb", "a\0", "ä", "a".repeat(256), 1, null, undefined].map(isWebhookId),
    ).not.toContain(true);
  });

  it("[W-16] a timestamp is digits and nothing else", () => {
    expect(["0", "1700000000", "999999999999"].map(readTimestamp)).toEqual([
      0, 1_700_000_000, 999_999_999_999,
    ]);
    const wrong = ["", "-1", "+1", "1.5", "1e9", "0x1", " 1", "1 ", "1\n", "1700000000000000", "١", "NaN"];
    expect(wrong.map(readTimestamp)).toEqual(wrong.map(() => undefined));
  });
});
