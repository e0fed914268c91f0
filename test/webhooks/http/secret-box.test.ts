import { randomBytes } from "node:crypto";
import { inspect } from "node:util";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { secretBox } from "../../../src/webhooks/http/secret-box.ts";
import { anyText } from "../../support/any-text.ts";

const KEY = Buffer.alloc(32, 1);
const OTHER = Buffer.alloc(32, 2);
const SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

const unreadable = expect.objectContaining({ code: "SECRET_UNREADABLE" }) as Error;

describe("secrets at rest", () => {
  it("[X-03] are sealed with the key, differently each time, and opened with it alone", () => {
    const box = secretBox(KEY, "key");
    const sealed = [box.seal(SECRET, "7"), box.seal(SECRET, "7")];
    expect(new Set(sealed).size).toBe(2);
    for (const text of sealed) {
      expect(text).toMatch(/^sealed-v1:[0-9a-f]{16}:[\w-]+$/);
      expect(text).not.toContain(SECRET.slice(6, 14));
      expect(box.open(text, "7")).toBe(SECRET);
      expect(() => secretBox(OTHER, "key").open(text, "7")).toThrow(unreadable);
      expect(() => secretBox(undefined, "key").open(text, "7")).toThrow(unreadable);
    }
  });

  it("[X-03] any text comes back for its own row, and for no other", () => {
    const box = secretBox(KEY, "key");
    fc.assert(
      fc.property(anyText(), fc.string(), fc.string(), (secret, owner, other) => {
        const sealed = box.seal(secret, owner);
        expect(box.open(sealed, owner)).toBe(secret);
        fc.pre(owner !== other);
        expect(() => box.open(sealed, other)).toThrow(unreadable);
      }),
    );
  });

  it("[X-03] a text that was changed or cut anywhere is refused", () => {
    const box = secretBox(KEY, "key");
    const sealed = box.seal(SECRET, "7");
    for (let length = "sealed-".length; length < sealed.length; length++) {
      expect(() => box.open(sealed.slice(0, length), "7")).toThrow(unreadable);
    }
    const start = sealed.lastIndexOf(":") + 1;
    const bytes = Buffer.from(sealed.slice(start), "base64url");
    for (let at = 0; at < bytes.length; at++) {
      const changed = Buffer.from(bytes);
      changed[at] = (changed[at] ?? 0) ^ 1;
      expect(() => box.open(sealed.slice(0, start) + changed.toString("base64url"), "7")).toThrow(unreadable);
    }
    expect(() => box.open(sealed.replace("v1", "v2"), "7")).toThrow(unreadable);
  });

  it("[X-03] keys are rotated: the first seals, all open, and what is old can be told", () => {
    const old = secretBox(KEY, "key").seal(SECRET, "7");
    const both = secretBox([OTHER, KEY], "key");
    expect([both.open(old, "7"), both.isCurrent(old)]).toEqual([SECRET, false]);
    const renewed = both.seal(both.open(old, "7"), "7");
    expect(both.isCurrent(renewed)).toBe(true);
    const after = secretBox([OTHER], "key");
    expect(after.open(renewed, "7")).toBe(SECRET);
    expect(() => after.open(old, "7")).toThrow(/sealed with the key [0-9a-f]{16}, which was not given/);
  });

  it("[X-03] without a key they are stored as they are, and stay readable when a key is given later", () => {
    const plain = secretBox(undefined, "key");
    expect([plain.seal(SECRET, "7"), plain.open(SECRET, "7"), plain.isCurrent(SECRET)]).toEqual([
      SECRET,
      SECRET,
      true,
    ]);
    const box = secretBox(KEY, "key");
    expect([box.open(SECRET, "7"), box.isCurrent(SECRET)]).toEqual([SECRET, false]);
  });

  it("[X-03] a key is 32 bytes: as bytes, hexadecimal or base64, and the same key in each form", () => {
    const key = randomBytes(32);
    const sealed = secretBox(key, "key").seal(SECRET, "7");
    for (const form of [
      key.toString("hex"),
      key.toString("base64"),
      key.toString("base64url"),
      new Uint8Array(key),
    ]) {
      expect(secretBox(form, "key").open(sealed, "7")).toBe(SECRET);
    }
    for (const wrong of [
      "",
      "password",
      Buffer.alloc(31),
      Buffer.alloc(33),
      "a".repeat(32),
      "g".repeat(64),
      ` ${key.toString("hex")}`,
    ]) {
      expect(() => secretBox(wrong, "webhooks.secretKey")).toThrow(
        expect.objectContaining({ code: "BAD_OPTION" }) as Error,
      );
    }
  });

  it("[X-03] no key and no secret shows in a log, an inspection or an error", () => {
    const key = randomBytes(32);
    const box = secretBox([key, KEY], "key");
    const sealed = box.seal(SECRET, "7");
    const shown = [inspect(box, { depth: null, showHidden: true }), JSON.stringify(box)];
    for (const attempt of [
      () => box.open(sealed, "8"),
      () => secretBox(OTHER, "key").open(sealed, "7"),
      () => secretBox("short", "key"),
    ]) {
      try {
        attempt();
      } catch (error) {
        shown.push(inspect(error, { depth: null, showHidden: true }));
      }
    }
    expect(shown.length).toBe(5);
    for (const text of shown) {
      for (const hidden of [key.toString("hex"), key.toString("base64"), SECRET, "<Buffer", "short"])
        expect(text).not.toContain(hidden);
    }
  });
});
