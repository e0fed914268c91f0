/** One saga: its state, its run, its timeline, its values, and the allowed actions. */
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { RelatedLine } from "../../../src/console/contract-parts.ts";
import type { SagaDetail } from "../../../src/console/contract.ts";
import { ActionButtons } from "../parts/action-buttons.tsx";
import { AttributeTags } from "../parts/attribute-tags.tsx";
import { CallProgress } from "../parts/call-progress.tsx";
import { CopyId } from "../parts/copy.tsx";
import { DetailFrame } from "../parts/detail-frame.tsx";
import { Empty } from "../parts/empty.tsx";
import { Facts } from "../parts/facts.tsx";
import { Icon } from "../parts/icon.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { RunGraph } from "../parts/run-graph.tsx";
import { runningWords, SagaCallouts, waitWords } from "../parts/saga-callouts.tsx";
import { RevealButton, SecretView } from "../parts/secret-view.tsx";
import { State } from "../parts/state.tsx";
import { Span, Time } from "../parts/time.tsx";
import { EventLog, TimeAxis } from "../parts/timeline.tsx";
import type { Target } from "../store/actions.ts";
import { watch } from "../store/live.ts";
import { useResource } from "../store/resource.ts";
import { hrefOf } from "../store/route.ts";
import { showToast } from "../store/toast.ts";
import { ENDED, sagaLook } from "../store/states.ts";
import { formatTimes } from "../store/format.ts";

export function SagaPage({ id }: { readonly id: string }): JSX.Element {
  const resource = useResource<SagaDetail>(`sagas/${encodeURIComponent(id)}`, ["watched"]);
  useEffect(() => {
    watch(id);
    return () => watch(undefined);
  }, [id]);
  return (
    <DetailFrame resource={resource} from={{ href: hrefOf(["sagas"]), word: "Sagas" }}>
      {(saga) => <Detail saga={saga} accept={resource.accept} />}
    </DetailFrame>
  );
}

interface Props {
  readonly saga: SagaDetail;
  readonly accept: (saga: SagaDetail) => void;
}

function Detail({ saga, accept }: Props): JSX.Element {
  const target: Target = {
    kind: "saga",
    id: saga.id,
    name: saga.saga,
    revision: saga.revision,
    skippable: saga.skippable,
    skips: saga.undoErrors.length > 0 ? "undo" : "act",
    reason: saga.stalled ?? runningWords(saga),
  };
  return (
    <>
      <PageHead
        from={{ href: hrefOf(["sagas"]), word: "Sagas" }}
        title={
          <span class="title-line">
            {saga.saga} <State look={sagaLook(saga)} />
          </span>
        }
        actions={
          <>
            <ActionButtons
              target={target}
              actions={saga.actions}
              onDone={(answer) => accept(answer as SagaDetail)}
            />
            {!ENDED.has(saga.status) && (
              <ActionButtons
                target={{ kind: "saga", id: saga.id, name: saga.saga }}
                actions={[saga.isPaused ? "resume" : "pause"]}
                quiet={!saga.isPaused}
                onDone={(answer) => accept(answer as SagaDetail)}
              />
            )}
          </>
        }
      >
        <CopyId id={saga.id} label="saga id" />
      </PageHead>
      <SagaCallouts saga={saga} />
      <section class="card" aria-label="Run">
        <div class="card-head">
          <h2>Run</h2>
          <div class="legend">
            <span data-tone="sea">
              <i />
              forward
            </span>
            <span data-tone="copper">
              <i />
              rollback
            </span>
            <span data-tone="rose">
              <i />
              failed
            </span>
          </div>
          <MermaidButton saga={saga} />
        </div>
        <RunGraph graph={saga.graph} label={`Steps of ${saga.saga}`} waiting={saga.waiting?.step} />
      </section>
      <div class="split">
        <div class="stack">
          <History saga={saga} />
        </div>
        <div class="stack">
          <CallProgress saga={saga} />
          <section class="card" aria-label="Facts">
            <div class="card-head">
              <h2>Facts</h2>
            </div>
            <div class="card-body">
              <SagaFacts saga={saga} />
            </div>
          </section>
          <Values saga={saga} />
        </div>
      </div>
    </>
  );
}

/** A worker that has the saga renews its lease; a wait ends at its limit. */
function nextWord({ owner, waiting, isScheduled, heldBy }: SagaDetail): string {
  if (isScheduled) return "Scheduled for";
  if (heldBy.length > 0) return "Due since";
  if (owner !== null) return "Lease ends";
  return waiting !== null && waiting.kind !== "sleep" ? "Waits until" : "Next run";
}

function SagaFacts({ saga }: { readonly saga: SagaDetail }): JSX.Element {
  const ended = ENDED.has(saga.status);
  return (
    <Facts
      rows={[
        [saga.runAt === null ? "Started" : "Recorded", <Time key="s" at={saga.createdAt} focusable />],
        ...(saga.runAt === null || saga.isScheduled
          ? []
          : ([["Scheduled for", <Time key="r" at={saga.runAt} focusable />]] as const)),
        [ended ? "Ended" : "Last change", <Time key="u" at={saga.updatedAt} focusable />],
        [
          ended ? "Took" : "Open for",
          <Span
            key="d"
            from={saga.isScheduled ? saga.createdAt : (saga.runAt ?? saga.createdAt)}
            to={ended ? saga.updatedAt : null}
          />,
        ],
        ...(saga.heldBy.length === 0 ? [] : ([["Waits for", "its limit"]] as const)),
        ...(saga.waiting === null ? [] : ([["Waits for", waitWords(saga.waiting)]] as const)),
        ...(ended
          ? []
          : ([
              [
                nextWord(saga),
                <Time key="n" at={saga.dueAt} none="none" planned={saga.heldBy.length === 0} focusable />,
              ],
              ["Worker", saga.owner === null ? <span class="dim">none</span> : <code>{saga.owner}</code>],
            ] as const)),
        ...(saga.recoveries > 0
          ? ([["Recovered after a crash", formatTimes(saga.recoveries, "time", "times")]] as const)
          : []),
        ...(saga.archivedAt === null
          ? []
          : ([["Archived", <Time key="a" at={saga.archivedAt} focusable />]] as const)),
        ...(saga.priority > 0 ? ([["Priority", String(saga.priority)]] as const) : []),
        ...(Object.keys(saga.attributes).length > 0
          ? ([["Attributes", <AttributeTags key="t" attributes={saga.attributes} />]] as const)
          : []),
        ...familyRows(saga),
        ["Definition", `version ${saga.version}, revision ${saga.revision}`],
      ]}
    />
  );
}

/** The sagas that belong to it, with links to their pages. */
function familyRows({ family }: SagaDetail): readonly (readonly [string, JSX.Element])[] {
  const link = (id: string): JSX.Element => <a href={hrefOf(["sagas", id])}>{id}</a>;
  const related = ({ id, status, step }: RelatedLine): JSX.Element => (
    <>
      {step === null ? "" : `${step}: `}
      {link(id)} <span class="dim">{status.toLowerCase()}</span>
    </>
  );
  return [
    ...(family.parent
      ? [
          [
            "Started by",
            <>
              {link(family.parent.id)}, at its step {family.parent.step}
            </>,
          ] as const,
        ]
      : []),
    ...family.children.map((child) => ["Child saga", related(child)] as const),
    ...(family.reverses === null ? [] : [["Takes back", link(family.reverses)] as const]),
    ...(family.reversedBy ? [["Taken back by", related(family.reversedBy)] as const] : []),
  ];
}

function History({ saga }: { readonly saga: SagaDetail }): JSX.Element {
  const [words, setWords] = useState(false);
  return (
    <section class="card" aria-label="Timeline">
      <div class="card-head">
        <h2>Timeline</h2>
        <div class="segmented" role="group" aria-label="View">
          <button type="button" aria-pressed={!words} onClick={() => setWords(false)}>
            Time axis
          </button>
          <button type="button" aria-pressed={words} onClick={() => setWords(true)}>
            Event log
          </button>
        </div>
      </div>
      {saga.timeline.length === 0 ? (
        <Empty icon="clock" tone="stone" title="Nothing has run yet" small />
      ) : words ? (
        <EventLog saga={saga} />
      ) : (
        <TimeAxis saga={saga} />
      )}
    </section>
  );
}

function Values({ saga }: { readonly saga: SagaDetail }): JSX.Element {
  const secret = { kind: "saga", id: saga.id } as const;
  const results = Object.entries(saga.results);
  return (
    <section class="card" aria-label="Input and results">
      <div class="card-head">
        <h2>Input and results</h2>
        <RevealButton secret={secret} />
      </div>
      <div class="card-body values">
        <div>
          <h3>Input</h3>
          <SecretView secret={secret} masked={saga.input} path={["input"]} />
        </div>
        {results.map(([step, masked]) => (
          <div key={step}>
            <h3>
              Result of <code>{step}</code>
            </h3>
            <SecretView secret={secret} masked={masked} path={["results", step]} />
          </div>
        ))}
        {results.length === 0 && <p class="dim">No results yet.</p>}
      </div>
    </section>
  );
}

function MermaidButton({ saga }: { readonly saga: SagaDetail }): JSX.Element {
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(saga.mermaid.sequence);
      showToast("good", "Copied the run as a Mermaid sequence diagram.");
    } catch {
      showToast("bad", "The browser does not allow the page to write to the clipboard.");
    }
  };
  return (
    <button type="button" class="btn" data-size="s" data-kind="plain" onClick={() => void copy()}>
      <Icon name="copy" size={12} />
      Mermaid
    </button>
  );
}
