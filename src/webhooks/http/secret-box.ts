/**
 * Secrets at rest. With a key they are stored sealed (AES-256-GCM), bound to the row they belong to, so that one row's
 * secret cannot be read in another's place. With several keys, the first one seals and all of them open. To rotate, put
 * the new key first, seal again what `isCurrent` denies, then remove the old one. Without a key secrets are stored as
 * plain text, which stays readable when a key is added later.
 */
import { createCipheriv, createDecipheriv, createHmac, randomBytes } from "node:crypto";
import { AmendsError } from "../../core/errors.ts";

/** 32 bytes, as they are or as base64 or hexadecimal text. */
export type SecretKey = Uint8Array | string;

export interface SecretBox {
  /** What to store. `owner` names the row: the same must be given to open it. */
  seal(secret: string, owner: string): string;
  /** What was sealed. A key that is missing or wrong, another owner or a changed text is refused. */
  open(stored: string, owner: string): string;
  /** Was this sealed with the key that seals now? */
  isCurrent(stored: string): boolean;
}

/** The form's name, the key's fingerprint, and one base64url text: the nonce, the tag, and what was sealed. */
const SEALED = /^sealed-v1:([0-9a-f]{16}):([\w-]+)$/;
const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

export function secretBox(keys: SecretKey | readonly SecretKey[] | undefined, field: string): SecretBox {
  const list =
    keys === undefined ? [] : typeof keys === "string" || keys instanceof Uint8Array ? [keys] : keys;
  return new Box(list.map((key) => readKey(key, field)));
}

interface NamedKey {
  /** Identifies a key without revealing it. */
  readonly name: string;
  readonly key: Buffer;
}

class Box implements SecretBox {
  /** Private fields, so that no logger and no inspector shows the keys. */
  readonly #keys: readonly NamedKey[];

  constructor(keys: readonly NamedKey[]) {
    this.#keys = keys;
  }

  seal(secret: string, owner: string): string {
    const [first] = this.#keys;
    if (first === undefined) return secret;
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv("aes-256-gcm", first.key, nonce, { authTagLength: TAG_BYTES });
    cipher.setAAD(bound(first.name, owner));
    const sealed = Buffer.concat([cipher.update(secret, "utf8"), cipher.final()]);
    return `sealed-v1:${first.name}:${Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString("base64url")}`;
  }

  open(stored: string, owner: string): string {
    if (!stored.startsWith("sealed-")) return stored;
    const [, name = "", text = ""] = SEALED.exec(stored) ?? [];
    if (name === "") throw unreadable("it is of a form that this version does not know, or was cut off");
    const found = this.#keys.find((key) => key.name === name);
    if (found === undefined) {
      throw unreadable(
        `it was sealed with the key ${name}, which was not given. Give that key beside the new one`,
      );
    }
    const bytes = Buffer.from(text, "base64url");
    try {
      const nonce = bytes.subarray(0, NONCE_BYTES);
      const decipher = createDecipheriv("aes-256-gcm", found.key, nonce, { authTagLength: TAG_BYTES });
      decipher.setAAD(bound(name, owner));
      decipher.setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
      const sealed = bytes.subarray(NONCE_BYTES + TAG_BYTES);
      return Buffer.concat([decipher.update(sealed), decipher.final()]).toString("utf8");
    } catch {
      throw unreadable("it was changed, or belongs to another row");
    }
  }

  isCurrent(stored: string): boolean {
    const [first] = this.#keys;
    return first === undefined ? !stored.startsWith("sealed-") : SEALED.exec(stored)?.[1] === first.name;
  }
}

function readKey(given: SecretKey, field: string): NamedKey {
  const key = typeof given === "string" ? decode(given) : Buffer.from(given);
  if (key.length !== KEY_BYTES) {
    throw new AmendsError(
      "BAD_OPTION",
      `${field} must be a key of ${KEY_BYTES} bytes, as bytes or as base64 or hexadecimal text (or several keys, the newest first).`,
    );
  }
  const name = createHmac("sha256", key).update("amends key name").digest("hex").slice(0, 16);
  return { name, key };
}

function decode(text: string): Buffer {
  if (/^[0-9a-fA-F]{64}$/.test(text)) return Buffer.from(text, "hex");
  return /^[\w+/-]{43}=?$/.test(text) ? Buffer.from(text, "base64") : Buffer.alloc(0);
}

function bound(name: string, owner: string): Buffer {
  return Buffer.from(`sealed-v1:${name}:${owner}`);
}

function unreadable(why: string): AmendsError {
  return new AmendsError("SECRET_UNREADABLE", `A stored secret cannot be read: ${why}.`);
}
