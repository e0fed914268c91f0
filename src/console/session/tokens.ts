/**
 * A valid token identifies an operator. Tokens are compared by their hashes, all of them, in constant time. After too
 * many wrong tokens of one client, further wrong ones are answered with 429; a valid token always works, so that
 * nobody can lock operators out. Tokens are too long to be guessed: the limit keeps the noise down.
 */
import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { AmendsError, errorLabel } from "../../core/errors.ts";
import type { Clock } from "../../storage/clock.ts";
import { Refused } from "../http/answer.ts";
import { checkOperator, type Operator } from "./operator.ts";

/** A token that signs in to the console, and its operator. */
export interface ConsoleToken extends Operator {
  /** At least 24 characters: make it with `openssl rand -base64 32`. */
  readonly token: string;
}

/** An operator whom a token identified. */
export interface Admitted {
  readonly operator: Operator;
  /** Names the token without giving it away. Null for an invitation, which works once. */
  readonly tokenId: string | null;
}

interface Accepted extends Admitted {
  readonly hash: Buffer;
}

interface Invitation extends Accepted {
  readonly untilMs: number;
}

type Warn = (fields: Readonly<Record<string, unknown>>, message: string) => void;

const TOKEN_MIN = 24;
const TOKEN_MAX = 1_000;
const INVITATIONS_MAX = 100;
const FAILURES_MAX = 10;
const FAILURES_WITHIN_MS = 60_000;
const CALLERS_MAX = 1_000;

export class Tokens {
  readonly #clock: Clock;
  readonly #read: () => readonly Accepted[];
  #known: readonly Accepted[] | undefined;
  #invitations: Invitation[] = [];
  /** When each caller failed lately. */
  readonly #failures = new Map<string, number[]>();

  /** A list is checked here; a function is called, and its list checked, when a token is first needed. */
  constructor(
    tokens: readonly ConsoleToken[] | (() => readonly ConsoleToken[]),
    clock: Clock,
    warn: Warn = () => undefined,
  ) {
    this.#clock = clock;
    if (typeof tokens !== "function") this.#known = tokens.map(accepted);
    this.#read = () => (typeof tokens === "function" ? readTokens(tokens, warn) : []);
  }

  get #tokens(): readonly Accepted[] {
    return (this.#known ??= this.#read());
  }

  /** The operator of a token as it is configured now; undefined if the token is gone. */
  operatorOf(tokenId: string): Operator | undefined {
    return this.#tokens.find((one) => one.tokenId === tokenId)?.operator;
  }

  /** A token that works once, for the address that is printed. */
  invite(operator: Operator, lifeMs: number): string {
    const token = randomBytes(24).toString("base64url");
    const untilMs = this.#clock.monotonicMs() + lifeMs;
    const invitation = { hash: hashOf(token), tokenId: null, operator, untilMs };
    this.#invitations = [...this.#live(), invitation].slice(-INVITATIONS_MAX);
    return token;
  }

  /** Whose token it is; an invitation is used up. Throws 401 for a wrong one, and 429 after too many. */
  admit(token: string, caller: string, alsoInvitations: boolean): Admitted {
    const hash = hashOf(token.slice(0, TOKEN_MAX));
    const invitations = alsoInvitations ? this.#live() : [];
    let found: Accepted | undefined;
    // Every one is compared, so that the time does not tell which one came close.
    for (const kept of [...this.#tokens, ...invitations]) if (timingSafeEqual(kept.hash, hash)) found = kept;
    if (!found) {
      this.#refuseGuessing(caller);
      this.#note(caller);
      throw new Refused(401, {
        code: "WRONG_TOKEN",
        message:
          "This token is not valid, or was already used. An invitation works once: start the console again, or call console.invite(), for a new one.",
      });
    }
    this.#invitations = this.#invitations.filter((kept) => kept !== found);
    return { operator: found.operator, tokenId: found.tokenId };
  }

  #live(): Invitation[] {
    const nowMs = this.#clock.monotonicMs();
    return this.#invitations.filter(({ untilMs }) => untilMs > nowMs);
  }

  #recent(caller: string): number[] {
    const sinceMs = this.#clock.monotonicMs() - FAILURES_WITHIN_MS;
    return (this.#failures.get(caller) ?? []).filter((atMs) => atMs > sinceMs);
  }

  #refuseGuessing(caller: string): void {
    if (this.#recent(caller).length < FAILURES_MAX) return;
    const message = "Too many wrong tokens. Wait one minute.";
    throw new Refused(429, { code: "TOO_MANY_TRIES", message }, { "retry-after": "60" });
  }

  #note(caller: string): void {
    const failures = [...this.#recent(caller), this.#clock.monotonicMs()];
    this.#failures.delete(caller);
    this.#failures.set(caller, failures);
    const [oldest] = this.#failures.keys();
    if (this.#failures.size > CALLERS_MAX && oldest !== undefined) this.#failures.delete(oldest);
  }
}

/** The reason goes to the log: visitors are not told which token is wrong. */
function readTokens(tokens: () => readonly ConsoleToken[], warn: Warn): readonly Accepted[] {
  try {
    return tokens().map(accepted);
  } catch (error) {
    const reason = error instanceof AmendsError ? error.message : errorLabel(error);
    warn(
      { reason },
      "amends: the console's function `tokens` returned no valid tokens: a token signs in nobody",
    );
    const message = "The tokens of this console are not valid. The log of its process has the reason.";
    throw new Refused(503, { code: "BAD_OPTION", message });
  }
}

function accepted(given: ConsoleToken, index: number): Accepted {
  const where = `tokens[${index}]`;
  if (typeof given?.token !== "string" || given.token.length < TOKEN_MIN) {
    throw new AmendsError(
      "BAD_OPTION",
      `${where}: a token has at least ${TOKEN_MIN} characters. If the build loads this file without the token, pass a function: \`tokens: () => […]\`.`,
    );
  }
  const hash = hashOf(given.token);
  const tokenId = hashOf(hash).toString("base64url").slice(0, 22);
  return { hash, tokenId, operator: checkOperator(given, where) };
}

function hashOf(token: string | Buffer): Buffer {
  return createHash("sha256").update(token).digest();
}
