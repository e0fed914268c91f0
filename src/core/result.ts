/**
 * The two ways in which a call that ran to its end can end. A business failure is a value that is returned, never a
 * thrown error (see errors.ts).
 */
const MARK: unique symbol = Symbol.for("amends.result") as never;

/** A success, made by `ok(value)`. */
export interface Ok<T> {
  readonly [MARK]: "ok";
  /** What the call returned. */
  readonly value: T;
}

/** A business failure, made by `err(error)`. It is final: the call is not retried. */
export interface Err<E> {
  readonly [MARK]: "err";
  /** Why the call failed, as the application's own value. */
  readonly error: E;
}

/** What a call returns: a success or a business failure. A thrown error is neither: see `Terminal` and `RetryLater`. */
export type Result<T, E> = Ok<T> | Err<E>;

/** Makes a success. */
export function ok(): Ok<undefined>;
export function ok<const T>(value: T): Ok<T>;
export function ok(value?: unknown): Ok<unknown> {
  return { [MARK]: "ok", value };
}

/** Makes a business failure, such as a declined card: the call is not retried, and the saga compensates. */
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
