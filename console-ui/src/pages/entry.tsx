/** One entry of the outbox. */
import type { JSX } from "preact";
import type { OutboxLine } from "../../../src/console/contract-parts.ts";
import { ActionButtons } from "../parts/action-buttons.tsx";
import { CopyId } from "../parts/copy.tsx";
import { DetailPage } from "../parts/detail-frame.tsx";
import { Facts } from "../parts/facts.tsx";
import { Icon } from "../parts/icon.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { PauseName } from "../parts/paused-panel.tsx";
import { RevealButton, SecretView } from "../parts/secret-view.tsx";
import { State } from "../parts/state.tsx";
import { Time } from "../parts/time.tsx";
import { formatAttempts } from "../store/format.ts";
import { hrefOf } from "../store/route.ts";
import { entryLook } from "../store/states.ts";

const FROM = { href: hrefOf(["outbox"]), word: "Outbox" };

export function EntryPage({ id }: { readonly id: string }): JSX.Element {
  return (
    <DetailPage<OutboxLine> path={`outbox/${encodeURIComponent(id)}`} topics={["outbox"]} from={FROM}>
      {(entry, { accept }) => <Detail entry={entry} accept={accept} />}
    </DetailPage>
  );
}

interface Props {
  readonly entry: OutboxLine;
  readonly accept: (entry: OutboxLine) => void;
}

function Detail({ entry, accept }: Props): JSX.Element {
  const look = entryLook(entry);
  const secret = { kind: "entry", id: entry.id } as const;
  const { ref, payload, subjectId, sagaId } = entry;
  return (
    <>
      <PageHead
        from={FROM}
        title={
          <span class="title-line">
            {entry.name} <State look={look} />
          </span>
        }
        actions={
          <>
            <ActionButtons
              target={{ kind: "entry", id: entry.id, name: entry.name, entryKind: entry.kind }}
              actions={entry.actions}
              onDone={(answer) => accept(answer as OutboxLine)}
            />
            <PauseName of="calls" name={entry.kind === "call" ? entry.name : undefined} />
          </>
        }
      >
        <CopyId id={entry.id} label="entry id (the idempotency key)" />
      </PageHead>
      {entry.lastError !== null && (
        <section class="callout" data-tone={look.tone} aria-label="Last error">
          <Icon name="attention" />
          <div>
            <strong>
              Last error: <code class="tag">{entry.lastError}</code> after {formatAttempts(entry.attempts)}
            </strong>
            <p>{look.meaning}</p>
          </div>
        </section>
      )}
      <div class="split">
        <section class="card" aria-label="Facts">
          <div class="card-head">
            <h2>Facts</h2>
          </div>
          <div class="card-body">
            <Facts
              rows={[
                ["Kind", entry.operation === null ? entry.kind : `${entry.kind}, ${entry.operation}`],
                [
                  "Data subject",
                  subjectId === null ? (
                    "–"
                  ) : (
                    <a key="s" class="link" href={hrefOf(["erasures", subjectId])}>
                      {subjectId}
                    </a>
                  ),
                ],
                [
                  "Saga",
                  sagaId === null ? (
                    "–"
                  ) : (
                    <a key="g" class="link" href={hrefOf(["sagas", sagaId])}>
                      {sagaId}
                    </a>
                  ),
                ],
                [
                  "Attempts",
                  <span key="t" class="num">
                    {entry.attempts}
                  </span>,
                ],
                ["Enqueued", <Time key="e" at={entry.enqueuedAt} focusable />],
                ["Last attempt", <Time key="l" at={entry.lastAttemptAt} none="none yet" focusable />],
                ["Next attempt", <Time key="n" at={entry.nextAttemptAt} none="none" planned focusable />],
              ]}
            />
          </div>
        </section>
        <section class="card" aria-label="Payload">
          <div class="card-head">
            <h2>Payload</h2>
            {(ref ?? payload) && <RevealButton secret={secret} />}
          </div>
          <div class="card-body values">
            {ref && (
              <div>
                <h3>Reference {entry.refKind !== null && <code>{entry.refKind}</code>}</h3>
                <SecretView secret={secret} masked={ref} path={["ref"]} />
              </div>
            )}
            {payload && (
              <div>
                <h3>Payload</h3>
                <SecretView secret={secret} masked={payload} path={["payload"]} />
              </div>
            )}
            {!ref && !payload && <p class="dim">None: it was cleared when the entry ended.</p>}
          </div>
        </section>
      </div>
    </>
  );
}
