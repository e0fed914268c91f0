/** Which page an address means. */
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { Empty } from "../parts/empty.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { attentionCount } from "../store/live.ts";
import { openRooms } from "../store/places.ts";
import { hrefOf, place } from "../store/route.ts";
import { AttentionPage } from "./attention.tsx";
import { AuditPage } from "./audit.tsx";
import { DeliveryPage } from "./delivery.tsx";
import { ErasuresPage } from "./erasures.tsx";
import { FlowPage } from "./flow.tsx";
import { FlowsPage } from "./flows.tsx";
import { EntryPage } from "./entry.tsx";
import { OutboxPage } from "./outbox.tsx";
import { OverviewPage } from "./overview.tsx";
import { SagaPage } from "./saga.tsx";
import { SagasPage } from "./sagas.tsx";
import { SubjectPage } from "./subject.tsx";
import { SubscriptionPage } from "./subscription.tsx";
import { WebhooksPage } from "./webhooks.tsx";

export function PageFor(): JSX.Element {
  const { path } = place.value;
  const [room = "overview", ...rest] = path;
  const known = openRooms().find(({ name }) => name === room);
  const title = [rest.at(-1), known?.word ?? "Amends"].filter(Boolean).join(" · ");
  const waiting = attentionCount.value?.value ?? 0;
  useEffect(() => {
    document.title = `${waiting > 0 ? `(${waiting}) ` : ""}${title} · Amends`;
  }, [title, waiting]);
  if (!known) return <Nowhere />;
  return pageOf(room, rest) ?? <Nowhere />;
}

function pageOf(room: string, rest: readonly string[]): JSX.Element | undefined {
  const [first, second] = rest;
  if (first === undefined) return listOf(room);
  if (room === "sagas") return <SagaPage key={first} id={first} />;
  if (room === "flows") return <FlowPage key={first} id={first} />;
  if (room === "outbox") return <EntryPage key={first} id={first} />;
  if (room === "erasures") return <SubjectPage key={first} id={first} />;
  if (room === "audit" && first === "subjects") return <AuditPage tab="subjects" />;
  if (room === "webhooks" && second === undefined && first === "subscriptions") {
    return <WebhooksPage tab="subscriptions" />;
  }
  if (room === "webhooks" && second !== undefined) {
    if (first === "deliveries") return <DeliveryPage key={second} id={second} />;
    if (first === "subscriptions") return <SubscriptionPage key={second} id={second} />;
  }
  return undefined;
}

function listOf(room: string): JSX.Element | undefined {
  if (room === "overview") return <OverviewPage />;
  if (room === "attention") return <AttentionPage />;
  if (room === "sagas") return <SagasPage />;
  if (room === "flows") return <FlowsPage />;
  if (room === "outbox") return <OutboxPage />;
  if (room === "webhooks") return <WebhooksPage tab="deliveries" />;
  if (room === "erasures") return <ErasuresPage />;
  if (room === "audit") return <AuditPage tab="actions" />;
  return undefined;
}

function Nowhere(): JSX.Element {
  return (
    <div class="page">
      <PageHead title="Nowhere" />
      <div class="card">
        <Empty icon="search" tone="stone" title="There is no such page">
          <p>
            The address may be from another version, or this console does not have that part. Go to the{" "}
            <a class="link" href={hrefOf(["overview"])}>
              overview
            </a>
            .
          </p>
        </Empty>
      </div>
    </div>
  );
}
