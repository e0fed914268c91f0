/** The outbox: calls and events that were sent, or are still to be sent. */
import type { JSX } from "preact";
import type { OutboxLine } from "../../../src/console/contract-parts.ts";
import { ActionButtons } from "../parts/action-buttons.tsx";
import { Chips } from "../parts/chips.tsx";
import { Empty } from "../parts/empty.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { PausedPanel } from "../parts/paused-panel.tsx";
import { SearchBox } from "../parts/search-box.tsx";
import { State } from "../parts/state.tsx";
import { RowLink, Table, type Column } from "../parts/table.tsx";
import { Time } from "../parts/time.tsx";
import { usePagedList } from "../store/paged-list.ts";
import { apiPath } from "../store/query.ts";
import { useCounts } from "../store/counts.ts";
import { hrefOf, route } from "../store/route.ts";
import { entryLook, entryLooks } from "../store/states.ts";

const idOf = ({ id }: OutboxLine): string => id;

const columns: readonly Column<OutboxLine>[] = [
  {
    head: "Entry",
    class: "phone-main",
    cell: ({ id, name, kind, operation, subjectId }) => (
      <RowLink
        href={hrefOf(["outbox", id])}
        note={
          <>
            {operation ?? kind}
            {subjectId !== null && (
              <>
                {" · "}
                <code>{subjectId}</code>
              </>
            )}
          </>
        }
      >
        {name}
      </RowLink>
    ),
  },
  {
    head: "State",
    class: "w-state phone-end",
    cell: (entry) => <State look={entryLook(entry)} />,
  },
  {
    head: "Attempts",
    class: "w-num end",
    label: "attempts",
    cell: ({ attempts }) => <span class="num">{attempts}</span>,
  },
  {
    head: "Last error",
    class: "w-name",
    cell: ({ lastError }) =>
      lastError === null ? <span class="dim">–</span> : <code class="tag">{lastError}</code>,
  },
  {
    head: "Next attempt",
    class: "w-time end phone-off",
    cell: ({ nextAttemptAt, status }) => (
      <Time
        at={status === "succeeded" || status === "superseded" ? null : nextAttemptAt}
        class="dim"
        planned
      />
    ),
  },
  {
    head: "Enqueued",
    class: "w-time end phone-end",
    cell: ({ enqueuedAt }) => <Time at={enqueuedAt} class="dim" />,
  },
  {
    head: "Action",
    class: "w-act end",
    cell: ({ id, name, kind, actions }) => (
      <ActionButtons
        target={{ kind: "entry", id, name, entryKind: kind }}
        actions={actions.slice(0, 1)}
        small
      />
    ),
  },
];

const EXAMPLE = `await db.transaction(async (tx) => {
  await tx.update(users).set({ deletedAt: now });
  await amends.erasure.eraseSubject("user-7", refs, { tx });
});`;

/** An event without a subscriber is stored as pending, but nothing waits for it: it has a state of its own here. */
function stored(status: string | undefined): Readonly<Record<string, string>> {
  if (status === "unrouted") return { status: "pending", kind: "event" };
  return status === "pending" ? { kind: "erasure,call,delivery" } : {};
}

export function OutboxPage(): JSX.Element {
  const { query } = route.value;
  const filters = { subject: query.get("subject"), status: query.get("status"), kind: query.get("kind") };
  const path = apiPath("outbox", { ...filters, ...stored(filters.status), limit: "40" });
  const pages = usePagedList<OutboxLine>(path, { topics: ["outbox"], idOf });
  const counts = useCounts()?.outbox;
  const narrowed = Object.values(filters).some(Boolean);
  return (
    <div class="page">
      <PageHead title="Outbox">
        <p>Calls and events that a transaction wrote: they are delivered after its commit, at least once.</p>
      </PageHead>
      <div class="tools">
        <SearchBox label="Search by data subject" placeholder="Data subject id" param="subject" />
      </div>
      <PausedPanel of="calls" />
      <Chips label="State" looks={entryLooks} counts={counts} />
      <div class="card">
        <Table
          caption="Outbox entries"
          columns={columns}
          pages={pages}
          idOf={idOf}
          empty={
            narrowed ? (
              <Empty icon="search" tone="stone" title="No matching entries">
                <p>Search needs the whole id of the data subject.</p>
              </Empty>
            ) : (
              <Empty icon="outbox" title="The outbox is empty" code={EXAMPLE}>
                <p>
                  An entry appears with the commit of its transaction, and ends when the other system confirms
                  it.
                </p>
              </Empty>
            )
          }
        />
      </div>
    </div>
  );
}
