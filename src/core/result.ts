/**
 * The two ways in which a call that ran to its end can end. A business failure is a value that is returned,
 * never something that is thrown: throwing means trouble (see errors.ts).
 */
const MARK: unique symbol = Symbol.for("amends.result") as never;

/** The answer of success. `ok` makes one. */
export interface Ok<T> {
  readonly [MARK]: "ok";
  /** What the call returned. */
  readonly value: T;
}

/** The answer of a refusal, which is not retried. `err` makes one. */
export interface Err<E> {
  readonly [MARK]: "err";
  /** Why the call was refused. */
  readonly error: E;
}

/** Success or refusal. */
export type Result<T, E> = Ok<T> | Err<E>;

/** The call did what it was for. */
export function ok(): Ok<undefined>;
export function ok<const T>(value: T): Ok<T>;
export function ok(value?: unknown): Ok<unknown> {
  return { [MARK]: "ok", value };
}

/** The call was refused for a reason that trying again will not change: the saga turns back. */
export function err<const E>(error: E): Err<E> {
  return { [MARK]: "err", error };
}

function mark(value: unknown): unknown {
  return typeof value === "object" && value !== null ? (value as { [MARK]?: unknown })[MARK] : undefined;
}

export function isOk(value: unknown): value is Ok<unknown> {
  return mark(value) === "ok";
}

export function isErr(value: unknown): value is Err<unknown> {
  return mark(value) === "err";
}
