/**
 * A step that starts another saga, its child, and waits for the child's end. The plan names the child; which saga that is, with its
 * id, is recorded when it has been started.
 */

/** `:>ship-order` behind the step's signs: no signal has such a name. */
export function childText(child: string): string {
  return `:>${child}`;
}

/** Undefined if this is no such text. */
export function readChild(text: string): string | undefined {
  return /^:>([^:/>@]+)$/.exec(text)?.[1];
}

/** How the child of a step differs from the recorded one, in words. */
export function childChange(recorded: string | undefined, now: string | undefined): string | undefined {
  if (recorded === now) return undefined;
  if (recorded === undefined) return `became the child saga ${now ?? ""}`;
  return now === undefined
    ? `no longer is the child saga ${recorded}`
    : `is the child saga ${now}, not ${recorded}`;
}

/** The saga whose end a step waits for. */
export interface Awaited {
  readonly saga: string;
  /** It takes the child back. Otherwise it is the child itself. */
  readonly isReversal?: boolean | undefined;
}

/** The details of the line with which the wait begins. */
export function awaitedDetails(awaited: Awaited): string {
  return JSON.stringify(awaited);
}

export function readAwaited(details: string | null): Awaited {
  return JSON.parse(details ?? "{}") as Awaited;
}

/** The name under which the end of a saga is sent to the one that waits for it. No signal and no event has such a name. */
export function endArrivesAs(sagaId: string): string {
  return END + sagaId;
}

const END = "$>";

/** The saga whose end arrived under this name; undefined if it is another arrival. */
export function endedSaga(name: string): string | undefined {
  return name.startsWith(END) ? name.slice(END.length) : undefined;
}

/** How a child, or the saga that takes it back, ended: what arrives at the parent. */
export type ChildEnd =
  | { readonly status: "COMPLETED"; readonly results?: unknown }
  | {
      readonly status: "FAILED";
      readonly label?: string | undefined;
      /** The value of the Err with which the child failed. */
      readonly error?: unknown;
      readonly isErr?: boolean | undefined;
    };
