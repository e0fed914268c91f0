/** One entry of the outbox. */
import type { JSX } from "preact";
import type { OutboxLine } from "../../../src/console/contract-parts.ts";
import { ActionButtons } from "../parts/action-buttons.tsx";
import { CopyId } from "../parts/copy.tsx";
import { DetailPage } from "../parts/detail-frame.tsx";
import { Facts } from "../parts/facts.tsx";
import { Icon } from "../parts/icon.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { RevealButton, SecretView } from "../parts/secret-view.tsx";
import { State } from "../parts/state.tsx";
import { Time } from "../parts/time.tsx";
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
          <ActionButtons
            target={{ kind: "entry", id: entry.id, name: entry.name }}
            actions={entry.actions}
            onDone={(answer) => accept(answer as OutboxLine)}
          />
        }
      >
        <CopyId id={entry.id} label="id, which is also the idempotency key," />
      </PageHead>
      {entry.lastError !== null && (
        <section class="callout" data-tone={look.tone} aria-label="What went wrong">
          <Icon name="attention" />
          <div>
            <strong>The last try ended with {entry.lastError}</strong>
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
                  "Subject",
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
                  "Tries",
                  <span key="t" class="num">
                    {entry.attempts}
                  </span>,
                ],
                ["Enqueued", <Time key="e" at={entry.enqueuedAt} />],
                ["Last try", <Time key="l" at={entry.lastAttemptAt} none="none yet" />],
                ["Next try", <Time key="n" at={entry.nextAttemptAt} none="–" />],
              ]}
            />
          </div>
        </section>
        <section class="card" aria-label="What it carries">
          <div class="card-head">
            <h2>What it carries</h2>
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
            {!ref && !payload && <p class="dim">Nothing: what it carried was cleared when it was done.</p>}
          </div>
        </section>
      </div>
    </>
  );
}
