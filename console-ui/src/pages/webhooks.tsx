/** Webhooks: deliveries and subscriptions. */
import type { JSX } from "preact";
import type { DeliveryLine, Subscription } from "../../../src/console/contract-parts.ts";
import { Chips } from "../parts/chips.tsx";
import { Empty } from "../parts/empty.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { SearchBox } from "../parts/search-box.tsx";
import { State } from "../parts/state.tsx";
import { RowLink, Table, type Column } from "../parts/table.tsx";
import { Tabs } from "../parts/tabs.tsx";
import { Time } from "../parts/time.tsx";
import { usePagedList } from "../store/paged-list.ts";
import { apiPath } from "../store/query.ts";
import { useCounts } from "../store/counts.ts";
import { hrefOf, route } from "../store/route.ts";
import { deliveryLooks, lookOf, subscriptionLooks } from "../store/states.ts";

export function WebhooksPage({ tab }: { readonly tab: "deliveries" | "subscriptions" }): JSX.Element {
  return (
    <div class="page">
      <PageHead title="Webhooks">
        <p>Events sent as signed HTTP requests, retried until the endpoint accepts them.</p>
      </PageHead>
      <Tabs
        label="Webhooks"
        tabs={[
          { href: hrefOf(["webhooks"]), word: "Deliveries", on: tab === "deliveries" },
          { href: hrefOf(["webhooks", "subscriptions"]), word: "Subscriptions", on: tab === "subscriptions" },
        ]}
      />
      {tab === "deliveries" ? <Deliveries /> : <Subscriptions />}
    </div>
  );
}

const deliveryId = ({ id }: DeliveryLine): string => id;

export const deliveryColumns: readonly Column<DeliveryLine>[] = [
  {
    head: "Event",
    class: "phone-main",
    cell: ({ id, eventId, eventType, subscription, url, generation }) => (
      <RowLink
        href={hrefOf(["webhooks", "deliveries", id])}
        note={
          <span data-tip={url}>
            to {subscription.name} · <code>{eventId}</code>
            {generation > 0 ? ` · resend ${generation}` : ""}
          </span>
        }
      >
        {eventType}
      </RowLink>
    ),
  },
  {
    head: "State",
    class: "w-state phone-end",
    cell: ({ status }) => <State look={lookOf(deliveryLooks, status)} />,
  },
  {
    head: "Attempts",
    class: "w-num end",
    label: "attempts",
    cell: ({ attemptCount }) => <span class="num">{attemptCount}</span>,
  },
  {
    head: "Last error",
    class: "w-name",
    cell: ({ errorCode }) =>
      errorCode === null ? <span class="dim">–</span> : <code class="tag">{errorCode}</code>,
  },
  {
    head: "Next attempt",
    class: "w-time end phone-off",
    cell: ({ nextAttemptAt }) => <Time at={nextAttemptAt} class="dim" planned />,
  },
  {
    head: "Changed",
    class: "w-time end phone-end",
    cell: ({ updatedAt }) => <Time at={updatedAt} class="dim" />,
  },
];

const PUBLISH = `await db.transaction((tx) =>
  amends.webhooks.publish({ type: "order.placed", data: { orderId } }, { tx }));`;
const SUBSCRIBE = `await amends.webhooks.subscribe({
  url: "https://partner.example/hook", events: ["order.*"], attempts: 12,
});`;

function Deliveries(): JSX.Element {
  const { query } = route.value;
  const filters = {
    event: query.get("event"),
    status: query.get("status"),
    subscription: query.get("subscription"),
  };
  const pages = usePagedList<DeliveryLine>(apiPath("webhooks/deliveries", { ...filters, limit: "40" }), {
    topics: ["webhooks"],
    idOf: deliveryId,
  });
  const counts = useCounts()?.deliveries;
  const narrowed = Object.values(filters).some(Boolean);
  return (
    <>
      <div class="tools">
        <SearchBox label="Search by event" placeholder="Event id" param="event" />
      </div>
      <Chips label="State" looks={deliveryLooks} counts={counts} />
      <div class="card">
        <Table
          caption="Deliveries"
          columns={deliveryColumns}
          pages={pages}
          idOf={deliveryId}
          empty={
            narrowed ? (
              <Empty icon="search" tone="stone" title="No matching deliveries">
                <p>Search needs the whole id of the event.</p>
              </Empty>
            ) : (
              <Empty icon="webhooks" title="No deliveries yet" code={PUBLISH}>
                <p>Each published event makes one delivery per matching subscription.</p>
              </Empty>
            )
          }
        />
      </div>
    </>
  );
}

const subscriptionId = ({ id }: Subscription): string => id;

const subscriptionColumns: readonly Column<Subscription>[] = [
  {
    head: "Endpoint",
    class: "phone-main",
    cell: ({ id, url, description }) => (
      <RowLink
        href={hrefOf(["webhooks", "subscriptions", id])}
        note={description === null ? `subscription ${id}` : url}
      >
        {description ?? url}
      </RowLink>
    ),
  },
  {
    head: "State",
    class: "w-state phone-end",
    cell: ({ status }) => <State look={lookOf(subscriptionLooks, status)} />,
  },
  {
    head: "Events",
    class: "w-name phone-wide",
    cell: ({ events }) => (
      <span class="clip" data-tip={events.join(", ")}>
        <code>{events.join(", ")}</code>
      </span>
    ),
  },
  {
    head: "Failing since",
    class: "w-time end",
    label: "failing",
    cell: ({ failingSince }) => <Time at={failingSince} class="dim" none="no" />,
  },
  {
    head: "Changed",
    class: "w-time end phone-end",
    cell: ({ updatedAt }) => <Time at={updatedAt} class="dim" />,
  },
];

function Subscriptions(): JSX.Element {
  const { query } = route.value;
  const filters = { q: query.get("q"), status: query.get("status") };
  const pages = usePagedList<Subscription>(apiPath("webhooks/subscriptions", { ...filters, limit: "40" }), {
    topics: ["webhooks"],
    idOf: subscriptionId,
  });
  const narrowed = Object.values(filters).some(Boolean);
  return (
    <>
      <div class="tools">
        <SearchBox label="Search subscriptions" placeholder="Part of an address" />
      </div>
      <Chips label="State" looks={subscriptionLooks} />
      <div class="card">
        <Table
          caption="Subscriptions"
          columns={subscriptionColumns}
          pages={pages}
          idOf={subscriptionId}
          empty={
            narrowed ? (
              <Empty icon="search" tone="stone" title="No matching subscriptions" />
            ) : (
              <Empty icon="webhooks" title="No subscriptions yet" code={SUBSCRIBE}>
                <p>A subscription has an address and the event types that it receives.</p>
              </Empty>
            )
          }
        />
      </div>
    </>
  );
}
