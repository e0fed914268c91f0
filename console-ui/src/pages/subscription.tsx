/** One subscription: its health, its settings, its newest deliveries. */
import type { JSX } from "preact";
import type { DeliveryLine, Resent, Subscription } from "../../../src/console/contract-parts.ts";
import { ActionButtons } from "../parts/action-buttons.tsx";
import { DetailPage } from "../parts/detail-frame.tsx";
import { Empty } from "../parts/empty.tsx";
import { Facts } from "../parts/facts.tsx";
import { Icon } from "../parts/icon.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { State } from "../parts/state.tsx";
import { Table } from "../parts/table.tsx";
import { Time } from "../parts/time.tsx";
import { usePages } from "../store/pages.ts";
import { apiPath } from "../store/query.ts";
import { hrefOf } from "../store/route.ts";
import { lookOf, subscriptionLooks } from "../store/states.ts";
import { say } from "../store/toast.ts";
import { countWord } from "../store/words.ts";
import { deliveryColumns } from "./webhooks.tsx";

const FROM = { href: hrefOf(["webhooks", "subscriptions"]), word: "Subscriptions" };
const idOf = ({ id }: DeliveryLine): string => id;

export function SubscriptionPage({ id }: { readonly id: string }): JSX.Element {
  return (
    <DetailPage<Subscription>
      path={`webhooks/subscriptions/${encodeURIComponent(id)}`}
      topics={["webhooks"]}
      from={FROM}
    >
      {(subscription, { accept }) => <Detail subscription={subscription} accept={accept} />}
    </DetailPage>
  );
}

interface Props {
  readonly subscription: Subscription;
  readonly accept: (subscription: Subscription) => void;
}

function Detail({ subscription, accept }: Props): JSX.Element {
  const { id, url, status, reason } = subscription;
  const pages = usePages<DeliveryLine>(apiPath("webhooks/deliveries", { subscription: id, limit: "20" }), {
    topics: ["webhooks"],
    idOf,
  });
  const onDone = (answer: unknown): void => {
    const after = answer as Subscription | Resent;
    if ("deliveries" in after) say("good", `${countWord(after.deliveries)} deliveries were made.`);
    else accept(after);
  };
  return (
    <>
      <PageHead
        from={FROM}
        title={
          <span class="title-line">
            {url} <State look={lookOf(subscriptionLooks, status)} />
          </span>
        }
        actions={
          <ActionButtons
            target={{ kind: "subscription", id, name: url }}
            actions={subscription.actions}
            onDone={onDone}
          />
        }
      >
        {subscription.description !== null && <p>{subscription.description}</p>}
      </PageHead>
      {reason !== null && (
        <section class="callout" data-tone={status === "Disabled" ? "rose" : "stone"} aria-label="Why">
          <Icon name="attention" />
          <div>
            <strong>{lookOf(subscriptionLooks, status).word}</strong>
            <p>{reason}</p>
          </div>
        </section>
      )}
      <section class="card" aria-label="Facts">
        <div class="card-head">
          <h2>Facts</h2>
        </div>
        <div class="card-body">
          <Facts
            rows={[
              [
                "Events",
                <span key="e" class="tag-list">
                  {subscription.events.map((event) => (
                    <code key={event} class="tag">
                      {event}
                    </code>
                  ))}
                </span>,
              ],
              [
                "Tries at most",
                subscription.attempts === null ? "as configured" : String(subscription.attempts),
              ],
              ["At once", String(subscription.concurrency)],
              ["In order", subscription.ordered ? "yes" : "no"],
              ["Live secrets", String(subscription.liveSecrets)],
              ["Failing since", <Time key="f" at={subscription.failingSince} none="it does not" />],
              [
                "Failures in a row",
                <span key="n" class="num">
                  {subscription.failures}
                </span>,
              ],
              ["Created", <Time key="c" at={subscription.createdAt} />],
            ]}
          />
        </div>
      </section>
      <section class="card" aria-label="Deliveries">
        <div class="card-head">
          <h2>Newest deliveries</h2>
          <a class="link" href={hrefOf(["webhooks"], [["subscription", id]])}>
            See all
          </a>
        </div>
        <Table
          caption="Deliveries of this subscription"
          columns={deliveryColumns}
          pages={pages}
          idOf={idOf}
          empty={<Empty icon="webhooks" tone="stone" title="No delivery yet" small />}
        />
      </section>
    </>
  );
}
