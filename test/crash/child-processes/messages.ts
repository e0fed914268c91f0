/** The messages between the harness and the process that it crashes. */
import type { Amends } from "amends";
import type { Sandbox } from "../harness/sandbox.ts";
import type { CrashPoint } from "../harness/crash-points.ts";

/** Parent to child, once, as its argument. */
export interface ChildInstructions {
  readonly scenario: string;
  readonly signal: "SIGKILL" | "SIGSTOP" | undefined;
  readonly leaseMs?: number;
  /** Each run waits at its point; a run without a point runs to its end. */
  readonly runs: readonly { readonly sandbox: Sandbox; readonly point?: string | undefined }[];
}

interface RunEnd {
  readonly run: number;
  /** The run arrived at its point. */
  readonly reached: boolean;
}

/** Child to parent. */
export type ChildReport =
  | { readonly kind: "cancel"; readonly run: number; readonly sagaId: string }
  | (RunEnd & {
      readonly kind: "finished";
      readonly points: readonly CrashPoint[];
      readonly counters: Amends["counters"];
      readonly lost: number;
    })
  | (RunEnd & { readonly kind: "threw"; readonly code: string | undefined; readonly text: string });

/** Parent to child: the saga of this run was cancelled. */
export interface CancelAnswer {
  readonly run: number;
}
