/** What the harness and its child processes say to each other. */
import type { Amends } from "amends";
import type { Place } from "./place.ts";
import type { Point } from "./probe.ts";

/** Parent to child, once. */
export interface Orders {
  readonly scenario: string;
  readonly signal: "SIGKILL" | "SIGSTOP" | undefined;
  /** Each lane is stopped at its point; one without a point runs to its end. */
  readonly lanes: readonly { readonly place: Place; readonly point?: string | undefined }[];
}

interface Said {
  readonly lane: number;
  /** It was at its point. */
  readonly reached: boolean;
}

/** Child to parent. */
export type Report =
  | { readonly kind: "cancel"; readonly lane: number; readonly sagaId: string }
  | (Said & {
      readonly kind: "finished";
      readonly points: readonly Point[];
      readonly counters: Amends["counters"];
      readonly lost: number;
    })
  | (Said & { readonly kind: "threw"; readonly code: string | undefined; readonly text: string });

/** Parent to child: the saga of this lane was cancelled. */
export interface Answer {
  readonly lane: number;
}
