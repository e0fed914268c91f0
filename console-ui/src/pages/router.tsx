/** Which page belongs to an address. */
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { Empty } from "../parts/empty.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { attentionCount } from "../store/attention-count.ts";
import { availableSections } from "../store/sections.ts";
import { hrefOf } from "../store/route.ts";
import { AttentionPage } from "./attention.tsx";
import { AuditPage } from "./audit.tsx";
import { BulkPage } from "./bulk.tsx";
import { BulkActionPage } from "./bulk-action.tsx";
import { DeliveryPage } from "./delivery.tsx";
import { ErasuresPage } from "./erasures.tsx";
import { FlowPage } from "./flow.tsx";
import { FlowsPage } from "./flows.tsx";
import { EntryPage } from "./entry.tsx";
import { OutboxPage } from "./outbox.tsx";
import { OverviewPage } from "./overview.tsx";
import { SagaPage } from "./saga.tsx";
import { SagasPage } from "./sagas.tsx";
import { SchedulePage } from "./schedule.tsx";
import { SchedulesPage } from "./schedules.tsx";
import { SubjectPage } from "./subject.tsx";
import { SubscriptionPage } from "./subscription.tsx";
import { WebhooksPage } from "./webhooks.tsx";

interface Props {
  readonly path: readonly string[];
}

/**
 * The page of a path. It must not read a signal that changes often: the element around it keeps the node that it was
 * given, with its children, for as long as that element is not drawn again. If this component then draws itself, the old
 * children stay referenced, and through them every tree that was drawn since (measured: 300 detached nodes in ten
 * minutes). A page is the child of this component alone, so that a page may draw itself as often as it likes.
 */
export function CurrentPage({ path }: Props): JSX.Element {
  const [section = "overview", ...rest] = path;
  const isKnown = availableSections().some(({ name }) => name === section);
  return (isKnown ? pageOf(section, rest) : undefined) ?? <NotFound />;
}

/** The title of the browser's tab, with the number of items that need attention. */
export function DocumentTitle({ path }: Props): null {
  const [section = "overview", ...rest] = path;
  const word = availableSections().find(({ name }) => name === section)?.word ?? "Amends";
  const count = attentionCount.value?.value ?? 0;
  const title = `${count > 0 ? `(${count}) ` : ""}${[rest.at(-1), word].filter(Boolean).join(" · ")} · Amends`;
  useEffect(() => {
    document.title = title;
  }, [title]);
  return null;
}

function pageOf(section: string, rest: readonly string[]): JSX.Element | undefined {
  const [first, second] = rest;
  if (first === undefined) return listOf(section);
  if (section === "sagas") return <SagaPage key={first} id={first} />;
  if (section === "schedules") return <SchedulePage key={first} id={first} />;
  if (section === "bulk") return <BulkActionPage key={first} id={first} />;
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
  if (section === "schedules") return <SchedulesPage />;
  if (section === "flows") return <FlowsPage />;
  if (section === "outbox") return <OutboxPage />;
  if (section === "webhooks") return <WebhooksPage tab="deliveries" />;
  if (section === "erasures") return <ErasuresPage />;
  if (section === "bulk") return <BulkPage />;
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
