/** One saga: where it stands, what happened and when, what it holds, and what can be done. */
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { SagaDetail } from "../../../src/console/contract.ts";
import { ActionButtons } from "../parts/action-buttons.tsx";
import { CopyId } from "../parts/copy.tsx";
import { DetailFrame } from "../parts/detail-frame.tsx";
import { Facts } from "../parts/facts.tsx";
import { Icon } from "../parts/icon.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { RunPicture } from "../parts/picture.tsx";
import { RevealButton, SecretView } from "../parts/secret-view.tsx";
import { State } from "../parts/state.tsx";
import { Span, Time } from "../parts/time.tsx";
import { Story, TimeAxis } from "../parts/timeline.tsx";
import type { Target } from "../store/actions.ts";
import { watch } from "../store/live.ts";
import { revealedOf } from "../store/reveal.ts";
import { useResource } from "../store/resource.ts";
import { hrefOf } from "../store/route.ts";
import { say } from "../store/toast.ts";
import { lookOf, sagaLooks } from "../store/states.ts";
import { timesWord } from "../store/words.ts";

const ENDED: ReadonlySet<string> = new Set(["COMPLETED", "FAILED"]);

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
  };
  return (
    <>
      <PageHead
        from={{ href: hrefOf(["sagas"]), word: "Sagas" }}
        title={
          <span class="title-line">
            {saga.saga} <State look={lookOf(sagaLooks, saga.status)} />
          </span>
        }
        actions={
          <ActionButtons
            target={target}
            actions={saga.actions}
            onDone={(answer) => accept(answer as SagaDetail)}
          />
        }
      >
        <CopyId id={saga.id} />
      </PageHead>
      <Trouble saga={saga} />
      <section class="card" aria-label="Picture of the run">
        <div class="card-head">
          <h2>The way it went</h2>
          <div class="legend">
            <span data-tone="sea">
              <i />
              forward
            </span>
            <span data-tone="copper">
              <i />
              way back
            </span>
            <span data-tone="rose">
              <i />
              failed
            </span>
          </div>
          <MermaidButton saga={saga} />
        </div>
        <RunPicture graph={saga.graph} label={`Steps of ${saga.saga}`} />
      </section>
      <div class="split">
        <div class="stack">
          <History saga={saga} />
        </div>
        <div class="stack">
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

function SagaFacts({ saga }: { readonly saga: SagaDetail }): JSX.Element {
  const ended = ENDED.has(saga.status);
  return (
    <Facts
      rows={[
        ["Started", <Time key="s" at={saga.createdAt} />],
        [ended ? "Ended" : "Last change", <Time key="u" at={saga.updatedAt} />],
        [
          ended ? "Took" : "Open for",
          <Span key="d" from={saga.createdAt} to={ended ? saga.updatedAt : null} />,
        ],
        ["Next look", <Time key="n" at={saga.dueAt} none={ended ? "never again" : "–"} />],
        ["Held by", saga.owner === null ? <span class="dim">nobody</span> : <code>{saga.owner}</code>],
        ["Archived", <Time key="a" at={saga.archivedAt} none="no" />],
        ["Taken over", timesWord(saga.recoveryAttempts, "time", "times")],
        ["Definition", `version ${saga.version}`],
        [
          "Change",
          <span key="v" class="num">
            {saga.revision}
          </span>,
        ],
      ]}
    />
  );
}

function Trouble({ saga }: { readonly saga: SagaDetail }): JSX.Element | null {
  const { error, undoErrors, stalled } = saga;
  if (!error && undoErrors.length === 0 && stalled === null) return null;
  const tone = stalled === null ? "copper" : "rose";
  const secret = { kind: "saga", id: saga.id } as const;
  return (
    <section class="callout" data-tone={tone} aria-label="What went wrong">
      <Icon name={stalled === null ? "undo" : "attention"} />
      <div>
        <strong>{stalled === null ? "It turned back" : "It waits for a person"}</strong>
        {stalled !== null && <p class="sentence">{stalled}.</p>}
        <ul>
          {error && (
            <li>
              It turned back because of <code class="tag">{error.label}</code>
              <span class="dim">{error.kind}</span>
              {error.value && revealedOf(secret) && (
                <SecretView secret={secret} masked={error.value} path={["error"]} />
              )}
            </li>
          )}
          {undoErrors.map(({ step, label, kind }) => (
            <li key={step}>
              The undo of <strong>{step}</strong> ended with <code class="tag">{label}</code>
              <span class="dim">{kind}</span>
            </li>
          ))}
        </ul>
      </div>
    </section>
  );
}

function History({ saga }: { readonly saga: SagaDetail }): JSX.Element {
  const [words, setWords] = useState(false);
  return (
    <section class="card" aria-label="What happened">
      <div class="card-head">
        <h2>What happened</h2>
        <div class="segmented" role="group" aria-label="How it is shown">
          <button type="button" aria-pressed={!words} onClick={() => setWords(false)}>
            Time axis
          </button>
          <button type="button" aria-pressed={words} onClick={() => setWords(true)}>
            Line by line
          </button>
        </div>
      </div>
      {words ? <Story saga={saga} /> : <TimeAxis saga={saga} />}
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
        {results.length === 0 && <p class="dim">No step has given a result yet.</p>}
      </div>
    </section>
  );
}

function MermaidButton({ saga }: { readonly saga: SagaDetail }): JSX.Element {
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(saga.mermaid.sequence);
      say("good", "The run is on the clipboard as a Mermaid sequence diagram.");
    } catch {
      say("bad", "This browser does not let the page write to the clipboard.");
    }
  };
  return (
    <button type="button" class="btn" data-size="s" data-kind="plain" onClick={() => void copy()}>
      <Icon name="copy" size={12} />
      Mermaid
    </button>
  );
}
