/**
 * What is sent to a saga: signals, and what operators ask for. Each takes the first free place of the saga's inbox, a row of named
 * promises, and the saga reads one place after the other. So their order is the same at every replay.
 */
import type { SharedContext } from "./sdk.ts";

/** A signal that was sent. */
export interface SentSignal {
  readonly kind: "signal";
  readonly name: string;
  /** As JSON. */
  readonly payload: string;
  readonly dedupeId: string | undefined;
  readonly atMs: number;
}

/** What an operator asks for. */
export interface Order {
  readonly kind: "order";
  readonly action: "cancel" | "retry" | "skip" | "resolve";
  readonly note: {
    readonly reason: string;
    readonly by?: string;
    readonly revision?: number;
    readonly pivotDidNotHappen?: boolean;
    readonly result?: unknown;
  };
  /** The step that is skipped. */
  readonly step?: string;
  /** How the saga is resolved. */
  readonly as?: "COMPLETED" | "FAILED";
}

export type Sent = SentSignal | Order;

/** What came of it. An error is a refused call: it travels as data, because Restate would try it again. */
export type Answer<T> =
  | { readonly ok: true; readonly value: T }
  | {
      readonly ok: false;
      readonly code: string;
      readonly message: string;
      readonly details?: Readonly<Record<string, unknown>>;
    };

export function inboxPlace(number: number): string {
  return `inbox/${number}`;
}

/** Where the saga answers what was sent in this place. */
export function answerPlace(number: number): string {
  return `answer/${number}`;
}

/** Puts it into the first free place behind these. Undefined: a signal with this name and id was sent before. */
export async function post(context: SharedContext, sent: Sent, read: number): Promise<number | undefined> {
  const dedupeId = sent.kind === "signal" ? sent.dedupeId : undefined;
  for (let number = dedupeId === undefined ? read + 1 : 1; ; number++) {
    const place = context.promise<Sent>(inboxPlace(number));
    const taken = await place.peek();
    if (taken === undefined && (await isTaken(place, sent))) return number;
    const found = taken ?? (await place.peek());
    if (dedupeId !== undefined && found && isSame(found, sent)) return undefined;
  }
}

/** False where another call was faster. */
async function isTaken(place: { resolve(value: Sent): Promise<void> }, sent: Sent): Promise<boolean> {
  try {
    await place.resolve(sent);
    return true;
  } catch {
    // Restate refuses to resolve a promise twice. Any other trouble ends the attempt and never comes here.
    return false;
  }
}

function isSame(one: Sent, other: Sent): boolean {
  return (
    one.kind === "signal" &&
    other.kind === "signal" &&
    one.name === other.name &&
    one.dedupeId === other.dedupeId
  );
}
