/** One run of an event flow: its graph, its events in order, and the allowed actions. */
import type { JSX } from "preact";
import type { FlowDetail, FlowEvent } from "../../../src/console/contract-parts.ts";
import { ActionButtons } from "../parts/action-buttons.tsx";
import { CopyId } from "../parts/copy.tsx";
import { DetailPage } from "../parts/detail-frame.tsx";
import { Empty } from "../parts/empty.tsx";
import { Facts } from "../parts/facts.tsx";
import { Icon } from "../parts/icon.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { RunGraph } from "../parts/run-graph.tsx";
import { RevealButton, SecretView } from "../parts/secret-view.tsx";
import { State } from "../parts/state.tsx";
import { Time } from "../parts/time.tsx";
import { hrefOf } from "../store/route.ts";
import { eventLook, flowLooks, lookOf } from "../store/states.ts";
import { formatAttempts } from "../store/format.ts";

const FROM = { href: hrefOf(["flows"]), word: "Event flows" };

export function FlowPage({ id }: { readonly id: string }): JSX.Element {
  return (
    <DetailPage<FlowDetail> path={`flows/${encodeURIComponent(id)}`} topics={["flows"]} from={FROM}>
      {(flow, { accept, reload }) => <Detail flow={flow} accept={accept} reload={reload} />}
    </DetailPage>
  );
}

interface Props {
  readonly flow: FlowDetail;
  readonly accept: (flow: FlowDetail) => void;
  readonly reload: () => void;
}

function Detail({ flow, accept, reload }: Props): JSX.Element {
  return (
    <>
      <PageHead
        from={FROM}
        title={
          <span class="title-line">
            {flow.type} <State look={lookOf(flowLooks, flow.status)} />
          </span>
        }
        actions={
          <ActionButtons
            target={{ kind: "flow", id: flow.id, name: flow.type }}
            actions={flow.actions}
            onDone={(answer) => accept(answer as FlowDetail)}
          />
        }
      >
        <CopyId id={flow.processId} label="process id" />
      </PageHead>
      {flow.errorLabel !== null && (
        <section class="callout" data-tone={flow.status === "stalled" ? "rose" : "copper"} aria-label="Error">
          <Icon name={flow.status === "stalled" ? "attention" : "undo"} />
          <div>
            <strong>{flow.status === "stalled" ? "Stuck: action required" : "Failed, rolled back"}</strong>
            <p>
              <code class="tag">{flow.errorLabel}</code>
            </p>
            {flow.error && (
              <SecretView secret={{ kind: "flow", id: flow.id }} masked={flow.error} path={["error"]} />
            )}
          </div>
          {flow.error && <RevealButton secret={{ kind: "flow", id: flow.id }} />}
        </section>
      )}
      <section class="card" aria-label="Run">
        <div class="card-head">
          <h2>Run</h2>
        </div>
        <RunGraph graph={flow.graph} label={`Steps of ${flow.type}`} />
      </section>
      <div class="split">
        <section class="card" aria-label="Events">
          <div class="card-head">
            <h2>Events, oldest first</h2>
          </div>
          {flow.events.length === 0 ? (
            <Empty icon="flows" tone="stone" title="No events" small>
              <p>Retention may have removed them.</p>
            </Empty>
          ) : (
            <ol class="trail">
              {flow.events.map((event) => (
                <EventRow key={event.id} event={event} onDone={reload} />
              ))}
            </ol>
          )}
        </section>
        <section class="card" aria-label="Facts">
          <div class="card-head">
            <h2>Facts</h2>
          </div>
          <div class="card-body">
            <Facts
              rows={[
                ["Started", <Time key="s" at={flow.startedAt} focusable />],
                ["Last change", <Time key="u" at={flow.updatedAt} focusable />],
                ["Deadline", <Time key="d" at={flow.dueAt} none="none" planned focusable />],
                ["Run", String(flow.run)],
                ["Current step", flow.currentStep ?? "–"],
                ["Completed steps", flow.completedSteps.join(", ") || "–"],
              ]}
            />
          </div>
        </section>
      </div>
    </>
  );
}

function EventRow({
  event,
  onDone,
}: {
  readonly event: FlowEvent;
  readonly onDone: () => void;
}): JSX.Element {
  const secret = { kind: "event", id: event.id } as const;
  const look = eventLook(event);
  return (
    <li class="trail-row" data-tone={look.tone}>
      <i class="event-dot" />
      <div>
        <div class="trail-head">
          <a class="link" href={hrefOf(["outbox", event.id])}>
            <strong>{event.name}</strong>
          </a>
          {event.handler !== null && (
            <span class="dim">
              to <code>{event.handler}</code>
            </span>
          )}
          <State look={look} />
          <Time at={event.at} class="dim" />
          <ActionButtons
            target={{ kind: "entry", id: event.id, name: event.name, entryKind: "event" }}
            actions={event.actions}
            small
            onDone={onDone}
          />
        </div>
        {event.lastError !== null && (
          <p>
            <code class="tag">{event.lastError}</code>{" "}
            <span class="dim">{formatAttempts(event.attempts)}</span>
          </p>
        )}
        {event.data && (
          <details>
            <summary>Data</summary>
            <div class="trail-data">
              <SecretView secret={secret} masked={event.data} path={["data"]} />
              <RevealButton secret={secret} />
            </div>
          </details>
        )}
      </div>
    </li>
  );
}
