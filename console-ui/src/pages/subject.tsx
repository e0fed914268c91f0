/** The trail of a data subject: the requests, the answers of each system, and every recorded event. */
import type { JSX } from "preact";
import type {
  AuditEventLine,
  ErasureLine,
  OutboxLine,
  SubjectTrail,
} from "../../../src/console/contract-parts.ts";
import { ActionButtons } from "../parts/action-buttons.tsx";
import { CopyId } from "../parts/copy.tsx";
import { DetailFrame } from "../parts/detail-frame.tsx";
import { Empty } from "../parts/empty.tsx";
import { FactTags } from "../parts/fact-tags.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { State } from "../parts/state.tsx";
import { Time } from "../parts/time.tsx";
import { useResource } from "../store/resource.ts";
import { hrefOf } from "../store/route.ts";
import { lookOf, outboxLooks, type Tone } from "../store/states.ts";
import { formatAttempts, formatTimes } from "../store/format.ts";
import { erasureLook } from "./erasures.tsx";

const FROM = { href: hrefOf(["erasures"]), word: "Erasures" };

export function SubjectPage({ id }: { readonly id: string }): JSX.Element {
  const resource = useResource<SubjectTrail>(`subjects/${encodeURIComponent(id)}`, ["erasures", "outbox"]);
  return (
    <DetailFrame resource={resource} from={FROM}>
      {(trail) => (
        <>
          <PageHead from={FROM} title="Data subject">
            <CopyId id={trail.subjectId} label="data subject id" />
          </PageHead>
          <Requests requests={trail.requests} />
          <div class="split">
            <section class="card" aria-label="Audit trail">
              <div class="card-head">
                <h2>Audit trail</h2>
                <span class="dim">oldest first, append-only, no personal data</span>
              </div>
              {trail.events.length === 0 ? (
                <Empty icon="audit" tone="stone" title="No events" small />
              ) : (
                <ol class="trail">
                  {trail.events.map((event) => (
                    <EventRow key={event.id} event={event} />
                  ))}
                </ol>
              )}
            </section>
            <section class="card" aria-label="Systems">
              <div class="card-head">
                <h2>Systems</h2>
              </div>
              {trail.entries.length === 0 ? (
                <Empty icon="outbox" tone="stone" title="No open entries" small />
              ) : (
                <ul>
                  {trail.entries.map((entry) => (
                    <EntryRow key={entry.id} entry={entry} />
                  ))}
                </ul>
              )}
            </section>
          </div>
        </>
      )}
    </DetailFrame>
  );
}

function Requests({ requests }: { readonly requests: readonly ErasureLine[] }): JSX.Element {
  return (
    <div class="requests">
      {requests.map((request) => (
        <section
          key={`${request.operation} ${request.requestedAt}`}
          class="card request"
          data-tone={erasureLook(request).tone}
          aria-label="Request"
        >
          <div class="title-line">
            <h2>{request.operation === "erase" ? "Erasure" : "Rectification"}</h2>
            <State look={erasureLook(request)} />
          </div>
          <p class="dim">
            requested <Time at={request.requestedAt} focusable /> ·{" "}
            {request.completedAt === null ? (
              <>
                due <Time at={request.dueBy} planned focusable /> ·{" "}
                {formatTimes(request.open, "open entry", "open entries")}
              </>
            ) : (
              <>
                completed <Time at={request.completedAt} focusable />
              </>
            )}
          </p>
        </section>
      ))}
    </div>
  );
}

function EntryRow({ entry }: { readonly entry: OutboxLine }): JSX.Element {
  return (
    <li class="need" data-plain>
      <span class="cell-2 entry-cell">
        <a class="row-link clip" href={hrefOf(["outbox", entry.id])} data-row>
          {entry.name}
        </a>
        <small>
          {entry.operation ?? entry.kind} ·{" "}
          {entry.status === "scheduled" ? (
            <>
              verified <Time at={entry.nextAttemptAt} planned focusable />
            </>
          ) : (
            formatAttempts(entry.attempts)
          )}
          {entry.lastError === null ? "" : ` · ${entry.lastError}`}
        </small>
      </span>
      <span class="row-actions">
        <State look={lookOf(outboxLooks, entry.status)} />
        <ActionButtons
          target={{ kind: "entry", id: entry.id, name: entry.name, entryKind: entry.kind }}
          actions={entry.actions}
          small
        />
      </span>
    </li>
  );
}

function EventRow({ event }: { readonly event: AuditEventLine }): JSX.Element {
  return (
    <li class="trail-row" data-tone={eventTone(event.type)}>
      <i class="event-dot" />
      <div>
        <div class="trail-head">
          <strong>{eventWord(event.type)}</strong>
          <Time at={event.at} class="dim" />
        </div>
        <FactTags facts={event.payload} />
      </div>
    </li>
  );
}

/** `ERASURE_STEP_SUCCEEDED` as `Erasure step succeeded`. */
export function eventWord(type: string): string {
  const words = type.toLowerCase().replaceAll("_", " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

export function eventTone(type: string): Tone {
  if (type.endsWith("FAILED")) return "rose";
  if (/COMPLETED$|SUCCEEDED$|VERIFIED$|RESOLVED$/u.test(type)) return "sea";
  if (/REQUEUED$|SUPERSEDED$|SKIPPED$/u.test(type)) return "copper";
  return type.endsWith("REQUESTED") ? "sky" : "stone";
}
