/** What an operator must know of a saga before anything else: its error, a call that still runs, a saga that no worker takes. */
import type { JSX } from "preact";
import type { SagaWait } from "../../../src/console/contract-parts.ts";
import type { SagaDetail } from "../../../src/console/contract.ts";
import { now } from "../store/clock.ts";
import { formatAttempts, formatDuration } from "../store/format.ts";
import { revealedOf } from "../store/reveal.ts";
import { hrefOf } from "../store/route.ts";
import { ENDED } from "../store/states.ts";
import { Icon } from "./icon.tsx";
import { SecretView } from "./secret-view.tsx";
import { Time } from "./time.tsx";

/** A worker with a free slot takes a due saga within its poll interval. */
const OVERDUE_MS = 15_000;

export function SagaCallouts({ saga }: { readonly saga: SagaDetail }): JSX.Element {
  return (
    <>
      <FailureCallout saga={saga} />
      <PausedCallout saga={saga} />
      {saga.stalled === null && <RunningCallout saga={saga} />}
      {saga.heldBy.length > 0 ? <HeldCallout saga={saga} /> : <OverdueCallout saga={saga} />}
    </>
  );
}

/** `signal approved`, `event PaymentReceived`, `time to pass`. */
export function waitWords({ kind, for: target }: SagaWait): string {
  return kind === "sleep" ? "time to pass" : `${kind} ${target ?? ""}`;
}

/** What a dialog says of a call that still runs. */
export function runningWords({ running }: SagaDetail): string | undefined {
  if (running === null) return undefined;
  return `the call of step ${running.step} has not returned since ${running.since}: it may still take effect`;
}

function RunningCallout({ saga: { running } }: { readonly saga: SagaDetail }): JSX.Element | null {
  if (running === null) return null;
  return (
    <section class="callout" data-tone="copper" aria-label="Running call">
      <Icon name="clock" />
      <div>
        <strong>A call has not returned</strong>
        <p>
          Step <strong>{running.step}</strong> was called <Time at={running.since} focusable /> and has not
          returned within its time limit. It may still take effect.
        </p>
      </div>
    </section>
  );
}

function PausedCallout({ saga: { saga, paused } }: { readonly saga: SagaDetail }): JSX.Element | null {
  if (paused === null) return null;
  return (
    <section class="callout" data-tone="copper" aria-label="Paused">
      <Icon name="pause" />
      <div>
        <strong>{paused.kind === "id" ? "Paused" : `All sagas ${saga} are paused`}</strong>
        <p>
          {paused.by ?? "unknown"}, <Time at={paused.since} focusable />: {paused.reason}
        </p>
      </div>
    </section>
  );
}

function HeldCallout({ saga: { heldBy } }: { readonly saga: SagaDetail }): JSX.Element {
  return (
    <section class="callout" data-tone="copper" aria-label="Waits for its limit">
      <Icon name="clock" />
      <div>
        <strong>It waits for its limit</strong>
        {heldBy.map(({ kind, limit, used, until }) =>
          kind === "concurrency" ? (
            <p key={kind}>
              {used} sagas of its key run, and {limit} may run at the same time.
            </p>
          ) : (
            <p key={kind}>
              {used} sagas of its key have begun within the period, and {limit} may begin.
              {until !== null && (
                <>
                  {" "}
                  The next place is free <Time at={until} planned focusable />.
                </>
              )}
            </p>
          ),
        )}
      </div>
    </section>
  );
}

function OverdueCallout({ saga }: { readonly saga: SagaDetail }): JSX.Element | null {
  const { status, dueAt, owner, version, paused } = saga;
  const overdueMs = dueAt === null ? 0 : now.value - Date.parse(dueAt);
  if (ENDED.has(status) || paused !== null || owner !== null || overdueMs < OVERDUE_MS) return null;
  return (
    <section class="callout" data-tone="copper" aria-label="Overdue">
      <Icon name="clock" />
      <div>
        <strong>No worker has taken it for {formatDuration(overdueMs)}</strong>
        <p>
          Check that a worker runs that has the saga <code>{saga.saga}</code>, version {version}. If one does,
          all of its slots are taken.
        </p>
      </div>
    </section>
  );
}

function FailureCallout({ saga }: { readonly saga: SagaDetail }): JSX.Element | null {
  const { error, undoErrors, stalled } = saga;
  if (!error && undoErrors.length === 0 && stalled === null) return null;
  const tone = stalled === null ? "copper" : "rose";
  const failedStep = saga.graph.nodes.findLast(
    ({ kind, state }) => kind === "act" && state === "failed",
  )?.step;
  const secret = { kind: "saga", id: saga.id } as const;
  // Lists find a stalled saga by what is in its way.
  const listedBy = undoErrors[0]?.label ?? (stalled === null ? error?.label : undefined);
  return (
    <section class="callout" data-tone={tone} aria-label="Error">
      <Icon name={stalled === null ? "undo" : "attention"} />
      <div>
        <strong>{headlineOf(saga)}</strong>
        {stalled !== null && undoErrors.length === 0 && <p class="sentence">{stalled}.</p>}
        <ul>
          {error && (
            <li>
              Failed
              {failedStep !== undefined && (
                <>
                  {" "}
                  at <strong>{failedStep}</strong>
                </>
              )}
              : <code class="tag">{error.label}</code> <span class="dim">{failureWord(error.kind)}</span>
              {error.value && revealedOf(secret) && (
                <SecretView secret={secret} masked={error.value} path={["error"]} />
              )}
            </li>
          )}
          {undoErrors.map(({ step, label, kind }) => (
            <li key={step}>
              Undoing <strong>{step}</strong> failed: <code class="tag">{label}</code>{" "}
              <span class="dim">
                {kind === "exhausted"
                  ? `${formatAttempts(attemptsOf(saga, `undo:${step}`))} failed`
                  : failureWord(kind)}
              </span>
            </li>
          ))}
        </ul>
        {listedBy !== undefined && (
          <p>
            <a href={hrefOf(["sagas"], [["error", listedBy]])}>All sagas with {listedBy}</a>
          </p>
        )}
        {[error, ...undoErrors].some((one) => one !== null && hadMessage(one.kind)) && (
          <p class="dim">
            Only labels of errors are stored. To see messages, set <code>keepMessages</code>, or log them in a
            middleware.
          </p>
        )}
      </div>
    </section>
  );
}

function headlineOf({ status, stalled }: SagaDetail): string {
  if (stalled !== null) return "Stuck: action required";
  if (status === "FAILED") return "Rolled back";
  return status === "COMPENSATING" ? "Rolling back" : "Failed";
}

const failureWords: Readonly<Record<string, string>> = {
  err: "business error",
  terminal: "permanent error",
  exhausted: "all attempts failed",
  unfit: "result cannot be stored",
  open: "circuit open",
  deadline: "deadline exceeded",
  cancelled: "cancelled",
};

/** Without a thrown error there is no message: an `err` has its value instead. */
function hadMessage(kind: string): boolean {
  return !["err", "deadline", "cancelled", "unfit", "open"].includes(kind);
}

function failureWord(kind: string): string {
  return failureWords[kind] ?? kind;
}

function attemptsOf({ graph }: SagaDetail, node: string): number {
  return graph.nodes.find(({ id }) => id === node)?.attempts ?? 0;
}
