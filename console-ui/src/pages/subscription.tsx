/** One subscription: its health, its settings, its newest deliveries. */
import type { JSX } from "preact";
import type {
  DeliveryLine,
  Resent,
  Subscription,
  SubscriptionBrief,
} from "../../../src/console/contract-parts.ts";
import { ActionButtons } from "../parts/action-buttons.tsx";
import { DetailPage } from "../parts/detail-frame.tsx";
import { Empty } from "../parts/empty.tsx";
import { Facts } from "../parts/facts.tsx";
import { Icon } from "../parts/icon.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { State } from "../parts/state.tsx";
import { Table } from "../parts/table.tsx";
import { Time } from "../parts/time.tsx";
import { usePagedList } from "../store/paged-list.ts";
import { apiPath } from "../store/query.ts";
import { hrefOf } from "../store/route.ts";
import { lookOf, subscriptionLooks } from "../store/states.ts";
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
  const pages = usePagedList<DeliveryLine>(
    apiPath("webhooks/deliveries", { subscription: id, limit: "20" }),
    {
      topics: ["webhooks"],
      idOf,
    },
  );
  const onDone = (answer: unknown): void => {
    const after = answer as Subscription | Resent;
    if (!("deliveries" in after)) accept(after);
  };
  const name = subscription.description ?? url;
  const brief: SubscriptionBrief = { id, name, status, gone: status === "Disabled" && reason === "gone" };
  return (
    <>
      <PageHead
        from={FROM}
        title={
          <span class="title-line">
            {name} <State look={lookOf(subscriptionLooks, status)} />
          </span>
        }
        actions={
          <ActionButtons
            target={{ kind: "subscription", id, name, subscription: brief }}
            actions={subscription.actions}
            onDone={onDone}
          />
        }
      >
        {subscription.description !== null && <p>{url}</p>}
      </PageHead>
      {reason !== null && (
        <section class="callout" data-tone={status === "Disabled" ? "rose" : "stone"} aria-label="Reason">
          <Icon name="attention" />
          <div>
            <strong>{lookOf(subscriptionLooks, status).word}</strong>
            <p>{whyWord(subscription, reason)}</p>
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
              ["Max attempts", subscription.attempts === null ? "default" : String(subscription.attempts)],
              ["Concurrency", String(subscription.concurrency)],
              ["Ordered", subscription.ordered ? "yes" : "no"],
              ["Live secrets", String(subscription.liveSecrets)],
              ["Failing since", <Time key="f" at={subscription.failingSince} none="no" focusable />],
              [
                "Consecutive failures",
                <span key="n" class="num">
                  {subscription.failures}
                </span>,
              ],
              ["Created", <Time key="c" at={subscription.createdAt} focusable />],
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
          empty={<Empty icon="webhooks" tone="stone" title="No deliveries yet" small />}
        />
      </section>
    </>
  );
}

/** The reason that the server stored, as a sentence. */
function whyWord({ status }: Subscription, reason: string): string {
  if (status !== "Disabled") return reason;
  if (reason === "gone")
    return "The endpoint answered HTTP 410 (gone for good). Nothing is sent. Unsubscribe it, or enable it if the endpoint was restored.";
  if (reason === "failing")
    return "No delivery has succeeded for a long time. Nothing is sent until the subscription is enabled.";
  return reason;
}
