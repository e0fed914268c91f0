/** One delivery: its attempts, what the endpoint answered, and the allowed actions. */
import type { JSX } from "preact";
import type { Attempt, DeliveryDetail } from "../../../src/console/contract-parts.ts";
import { ActionButtons } from "../parts/action-buttons.tsx";
import { CopyId } from "../parts/copy.tsx";
import { DetailPage } from "../parts/detail-frame.tsx";
import { Empty } from "../parts/empty.tsx";
import { Facts } from "../parts/facts.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { RevealButton, SecretView } from "../parts/secret-view.tsx";
import { State } from "../parts/state.tsx";
import { Time } from "../parts/time.tsx";
import { navigate, hrefOf } from "../store/route.ts";
import { deliveryLooks, lookOf } from "../store/states.ts";
import { formatDuration } from "../store/format.ts";

const FROM = { href: hrefOf(["webhooks"]), word: "Webhooks" };

export function DeliveryPage({ id }: { readonly id: string }): JSX.Element {
  return (
    <DetailPage<DeliveryDetail>
      path={`webhooks/deliveries/${encodeURIComponent(id)}`}
      topics={["webhooks"]}
      from={FROM}
    >
      {(delivery, { accept }) => <Detail delivery={delivery} accept={accept} />}
    </DetailPage>
  );
}

interface Props {
  readonly delivery: DeliveryDetail;
  readonly accept: (delivery: DeliveryDetail) => void;
}

function Detail({ delivery, accept }: Props): JSX.Element {
  const { id, eventType, attempts, deadLetter, subscription } = delivery;
  const secret = { kind: "delivery", id } as const;
  const link = (other: string): JSX.Element => (
    <a class="link" href={hrefOf(["webhooks", "deliveries", other])}>
      {other}
    </a>
  );
  return (
    <>
      <PageHead
        from={FROM}
        title={
          <span class="title-line">
            {eventType} <State look={lookOf(deliveryLooks, delivery.status)} />
          </span>
        }
        actions={
          <ActionButtons
            target={{ kind: "delivery", id, name: eventType, subscription }}
            actions={delivery.actions}
            onDone={(answer) => {
              const after = answer as DeliveryDetail;
              if (after.id === id) accept(after);
              else navigate(hrefOf(["webhooks", "deliveries", after.id]));
            }}
          />
        }
      >
        <CopyId id={id} label="delivery id" />
      </PageHead>
      <div class="split">
        <section class="card" aria-label="Attempts">
          <div class="card-head">
            <h2>Attempts</h2>
            <span class="dim">
              to <code>{delivery.url}</code>
            </span>
          </div>
          {attempts.length === 0 ? (
            <Empty icon="webhooks" tone="stone" title="No attempt yet" small>
              <p>
                The first attempt is due <Time at={delivery.nextAttemptAt} none="now" planned />.
              </p>
            </Empty>
          ) : (
            <ol class="trail">
              {attempts.map((attempt, index) => (
                <AttemptRow key={attempt.id} attempt={attempt} number={index + 1} />
              ))}
              {delivery.nextAttemptAt !== null && delivery.status === "PendingRetry" && (
                <li class="trail-row" data-tone="stone">
                  <i class="event-dot" />
                  <span class="dim">
                    next attempt <Time at={delivery.nextAttemptAt} planned />
                  </span>
                </li>
              )}
            </ol>
          )}
        </section>
        <div class="stack">
          <section class="card" aria-label="Facts">
            <div class="card-head">
              <h2>Facts</h2>
            </div>
            <div class="card-body">
              <Facts
                rows={[
                  ["Event", <code key="e">{delivery.eventId}</code>],
                  [
                    "Subscription",
                    <a
                      key="s"
                      class="link"
                      href={hrefOf(["webhooks", "subscriptions", delivery.subscriptionId])}
                    >
                      {subscription.name}
                    </a>,
                  ],
                  ["Created", <Time key="c" at={delivery.createdAt} focusable />],
                  ["Last change", <Time key="u" at={delivery.updatedAt} focusable />],
                  ...(deadLetter === null ? [] : ([["Dead letter", deadLetter.toLowerCase()]] as const)),
                  ...(delivery.requeuedFrom === null
                    ? []
                    : ([["Resent from", link(delivery.requeuedFrom)]] as const)),
                  ...(delivery.requeuedAs === null
                    ? []
                    : ([["Replacement", link(delivery.requeuedAs)]] as const)),
                ]}
              />
            </div>
          </section>
          <section class="card" aria-label="Payload">
            <div class="card-head">
              <h2>Payload</h2>
              <RevealButton secret={secret} />
            </div>
            <div class="card-body">
              <SecretView secret={secret} masked={delivery.payload} path={["payload"]} />
            </div>
          </section>
        </div>
      </div>
    </>
  );
}

function AttemptRow({
  attempt,
  number,
}: {
  readonly attempt: Attempt;
  readonly number: number;
}): JSX.Element {
  const secret = { kind: "attempt", id: attempt.id } as const;
  return (
    <li class="trail-row" data-tone={attempt.ok ? "sea" : "rose"}>
      <i class="event-dot" />
      <div>
        <div class="trail-head">
          <strong>{attempt.httpStatus === null ? "No answer" : `HTTP ${attempt.httpStatus}`}</strong>
          <code class="tag">{attempt.code}</code>
          <span class="dim num">
            attempt {number} · {formatDuration(attempt.durationMs)}
          </span>
          {attempt.verdict !== "accepted" && (
            <span class="tag" data-tone="copper">
              {attempt.verdict}, not counted
            </span>
          )}
          <Time at={attempt.at} class="dim" />
        </div>
        {attempt.response && (
          <details>
            <summary>Response</summary>
            <div class="trail-data">
              <SecretView secret={secret} masked={attempt.response} path={["response"]} />
              <RevealButton secret={secret} />
            </div>
          </details>
        )}
      </div>
    </li>
  );
}
