/** Which page belongs to an address. */
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { Empty } from "../parts/empty.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { attentionCount } from "../store/attention-count.ts";
import { availableSections } from "../store/sections.ts";
import { hrefOf, route } from "../store/route.ts";
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

export function CurrentPage(): JSX.Element {
  const { path } = route.value;
  const [section = "overview", ...rest] = path;
  const known = availableSections().find(({ name }) => name === section);
  const title = [rest.at(-1), known?.word ?? "Amends"].filter(Boolean).join(" · ");
  const waiting = attentionCount.value?.value ?? 0;
  useEffect(() => {
    document.title = `${waiting > 0 ? `(${waiting}) ` : ""}${title} · Amends`;
  }, [title, waiting]);
  if (!known) return <NotFound />;
  return pageOf(section, rest) ?? <NotFound />;
}

function pageOf(section: string, rest: readonly string[]): JSX.Element | undefined {
  const [first, second] = rest;
  if (first === undefined) return listOf(section);
  if (section === "sagas") return <SagaPage key={first} id={first} />;
  if (section === "flows") return <FlowPage key={first} id={first} />;
  if (section === "outbox") return <EntryPage key={first} id={first} />;
  if (section === "erasures") return <SubjectPage key={first} id={first} />;
  if (section === "audit" && first === "subjects") return <AuditPage tab="subjects" />;
  if (section === "webhooks" && second === undefined && first === "subscriptions") {
    return <WebhooksPage tab="subscriptions" />;
  }
  if (section === "webhooks" && second !== undefined) {
    if (first === "deliveries") return <DeliveryPage key={second} id={second} />;
    if (first === "subscriptions") return <SubscriptionPage key={second} id={second} />;
  }
  return undefined;
}

function listOf(section: string): JSX.Element | undefined {
  if (section === "overview") return <OverviewPage />;
  if (section === "attention") return <AttentionPage />;
  if (section === "sagas") return <SagasPage />;
  if (section === "flows") return <FlowsPage />;
  if (section === "outbox") return <OutboxPage />;
  if (section === "webhooks") return <WebhooksPage tab="deliveries" />;
  if (section === "erasures") return <ErasuresPage />;
  if (section === "audit") return <AuditPage tab="actions" />;
  return undefined;
}

function NotFound(): JSX.Element {
  return (
    <div class="page">
      <PageHead title="Page not found" />
      <div class="card">
        <Empty icon="search" tone="stone" title="No page at this address">
          <p>
            The address may belong to another version, or this console does not have that part. Go to the{" "}
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
