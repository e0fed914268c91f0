/** One saga as the console shows it: values masked, everything else as it is. */
import type { SagaFailure } from "../../sagas/view/outcome.ts";
import { runDiagram } from "../../sagas/view/run-diagram.ts";
import type { CallProgress } from "../../sagas/view/progress.ts";
import type { RelatedSaga, SagaPause, SagaView, TimelineEntry, Waiting } from "../../sagas/view/view.ts";
import type { Json, Revealed, SagaDetail, TimelineLine, Trouble } from "../contract.ts";
import type { ProgressLine, RelatedLine, SagaPauseLine, SagaWait } from "../contract-parts.ts";
import { mask, maskTexts } from "../http/mask.ts";
import { graphOf, stepLines } from "./graph.ts";
import { lastErrorOf, linesOf, recoveriesOf } from "../../sagas/read/run/lines.ts";

export function detailOf(view: SagaView, archivedAt?: Date): SagaDetail {
  const lines = linesOf(view);
  const began = view.runAt ?? view.createdAt;
  const results = Object.entries(view.results).map(([step, result]) => [step, mask(result)]);
  return {
    id: view.id,
    saga: view.name,
    status: view.status,
    createdAt: view.createdAt.toISOString(),
    updatedAt: view.updatedAt.toISOString(),
    runAt: view.runAt?.toISOString() ?? null,
    isScheduled: view.isScheduled,
    attributes: view.attributes,
    priority: view.priority,
    durationMs: Math.max(0, view.updatedAt.getTime() - began.getTime()),
    recoveries: recoveriesOf(view.plan, lines),
    steps: stepLines(view),
    lastError: lastErrorOf(view.status, lines) ?? null,
    archivedAt: archivedAt?.toISOString() ?? null,
    version: view.version,
    revision: view.revision,
    input: mask(view.input),
    results: Object.fromEntries(results) as SagaDetail["results"],
    dueAt: view.dueAt?.toISOString() ?? null,
    waiting: view.waiting ? waitOf(view.waiting) : null,
    family: {
      parent: view.parent ?? null,
      children: view.children.map(relatedLine),
      reverses: view.reverses ?? null,
      reversedBy: view.reversedBy ? relatedLine(view.reversedBy) : null,
    },
    // A key is computed from the input, and is shown as little as the input is.
    heldBy: view.heldBy.map(({ kind, limit, used, until }) => ({
      kind,
      limit,
      used,
      until: until?.toISOString() ?? null,
    })),
    running: view.running ? { step: view.running.step, since: view.running.since.toISOString() } : null,
    owner: view.owner ?? null,
    paused: view.paused ? pauseLine(view.paused) : null,
    isPaused: view.paused?.kind === "id",
    progress: view.progress.map(progressLine),
    error: view.error ? troubleOf(view.error) : null,
    undoErrors: view.undoErrors.map(({ step, kind, label }) => ({ step, kind, label })),
    stalled: view.stalled ?? null,
    actions: view.actions,
    skippable: view.skippable,
    timeline: view.timeline.map(lineOf),
    graph: graphOf(view),
    mermaid: { sequence: runDiagram(view, "sequence"), state: runDiagram(view, "state") },
  };
}

function waitOf({ step, kind, for: target, since, until }: Waiting): SagaWait {
  return {
    step,
    kind,
    for: target ?? null,
    since: since.toISOString(),
    until: until?.toISOString() ?? null,
  };
}

function relatedLine({ id, status, step }: RelatedSaga): RelatedLine {
  return { id, status, step: step ?? null };
}

function pauseLine({ kind, reason, by, since }: SagaPause): SagaPauseLine {
  return { kind, reason, by: by ?? null, since: since.toISOString() };
}

function progressLine({ step, action, value, at }: CallProgress): ProgressLine {
  return { step, action, value: maskTexts(value), at: at.toISOString() };
}

function troubleOf(error: SagaFailure): Trouble {
  const value = "value" in error ? { value: mask(error.value) } : {};
  return { kind: error.kind, label: error.label, ...value };
}

function lineOf({ at, name, kind, action, status, note, by, step }: TimelineEntry): TimelineLine {
  return {
    at: at.toISOString(),
    name,
    kind,
    action,
    status,
    note: note ?? null,
    by: by ?? null,
    step: step ?? null,
  };
}

/** The unmasked values, for operators with the role `reveal`. */
export function revealSaga(view: SagaView): Revealed {
  const asJson = (value: unknown): Json => (value ?? null) as Json;
  return {
    fields: {
      input: asJson(view.input),
      results: asJson(view.results),
      error: asJson(view.error),
      progress: Object.fromEntries(
        view.progress.map(({ step, action, value }) => [`${action} ${step}`, asJson(value)]),
      ),
    },
  };
}
