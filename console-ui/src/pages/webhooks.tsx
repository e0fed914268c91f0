/** Webhooks: what was sent to whom, and who listens. */
import type { JSX } from "preact";
import type { Overview } from "../../../src/console/contract.ts";
import type { DeliveryLine, Subscription } from "../../../src/console/contract-parts.ts";
import { Chips } from "../parts/chips.tsx";
import { Empty } from "../parts/empty.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { SearchBox } from "../parts/search-box.tsx";
import { State } from "../parts/state.tsx";
import { RowLink, Table, type Column } from "../parts/table.tsx";
import { Tabs } from "../parts/tabs.tsx";
import { Time } from "../parts/time.tsx";
import { usePages } from "../store/pages.ts";
import { apiPath } from "../store/query.ts";
import { useResource } from "../store/resource.ts";
import { hrefOf, place } from "../store/route.ts";
import { deliveryLooks, lookOf, subscriptionLooks } from "../store/states.ts";

export function WebhooksPage({ tab }: { readonly tab: "deliveries" | "subscriptions" }): JSX.Element {
  return (
    <div class="page">
      <PageHead title="Webhooks">
        <p>Events that leave as signed HTTP requests, tried until they are accepted.</p>
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
    cell: ({ id, eventType, url, generation }) => (
      <RowLink
        href={hrefOf(["webhooks", "deliveries", id])}
        note={`${url}${generation > 0 ? ` · sent again, ${generation}` : ""}`}
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
    head: "Tries",
    class: "w-num end",
    label: "tries",
    cell: ({ attemptCount }) => <span class="num">{attemptCount}</span>,
  },
  {
    head: "Last error",
    class: "w-name",
    cell: ({ errorCode }) =>
      errorCode === null ? <span class="dim">–</span> : <code class="tag">{errorCode}</code>,
  },
  {
    head: "Next try",
    class: "w-time end phone-off",
    cell: ({ nextAttemptAt }) => <Time at={nextAttemptAt} class="dim" />,
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
  const { query } = place.value;
  const filters = {
    event: query.get("event"),
    status: query.get("status"),
    subscription: query.get("subscription"),
  };
  const pages = usePages<DeliveryLine>(apiPath("webhooks/deliveries", { ...filters, limit: "40" }), {
    topics: ["webhooks"],
    idOf: deliveryId,
  });
  const counts = useResource<Overview>("overview?window=1h", ["overview"]).data.value?.deliveries;
  const narrowed = Object.values(filters).some(Boolean);
  return (
    <>
      <div class="tools">
        <SearchBox label="Find an event’s deliveries" placeholder="An event’s id" param="event" />
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
              <Empty icon="search" tone="stone" title="No delivery fits">
                <p>Search by the whole id of an event.</p>
              </Empty>
            ) : (
              <Empty icon="webhooks" title="Nothing has been published yet" code={PUBLISH}>
                <p>Each event makes one delivery per subscription that wants it.</p>
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
      <RowLink href={hrefOf(["webhooks", "subscriptions", id])} note={description ?? `subscription ${id}`}>
        {url}
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
  const { query } = place.value;
  const filters = { q: query.get("q"), status: query.get("status") };
  const pages = usePages<Subscription>(apiPath("webhooks/subscriptions", { ...filters, limit: "40" }), {
    topics: ["webhooks"],
    idOf: subscriptionId,
  });
  const narrowed = Object.values(filters).some(Boolean);
  return (
    <>
      <div class="tools">
        <SearchBox label="Search subscriptions" placeholder="A part of an address" />
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
              <Empty icon="search" tone="stone" title="No subscription fits" />
            ) : (
              <Empty icon="webhooks" title="Nobody listens yet" code={SUBSCRIBE}>
                <p>A subscription names an address and the types of events that it wants.</p>
              </Empty>
            )
          }
        />
      </div>
    </>
  );
}
