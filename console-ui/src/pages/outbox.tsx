/** The outbox: every call and event that has yet to leave, or has left. */
import type { JSX } from "preact";
import type { Overview } from "../../../src/console/contract.ts";
import type { OutboxLine } from "../../../src/console/contract-parts.ts";
import { ActionButtons } from "../parts/action-buttons.tsx";
import { Chips } from "../parts/chips.tsx";
import { Empty } from "../parts/empty.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { SearchBox } from "../parts/search-box.tsx";
import { State } from "../parts/state.tsx";
import { RowLink, Table, type Column } from "../parts/table.tsx";
import { Time } from "../parts/time.tsx";
import { usePages } from "../store/pages.ts";
import { apiPath } from "../store/query.ts";
import { useResource } from "../store/resource.ts";
import { hrefOf, place } from "../store/route.ts";
import { entryLook, outboxLooks } from "../store/states.ts";

const idOf = ({ id }: OutboxLine): string => id;

const columns: readonly Column<OutboxLine>[] = [
  {
    head: "What",
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
    head: "Tries",
    class: "w-num end",
    label: "tries",
    cell: ({ attempts }) => <span class="num">{attempts}</span>,
  },
  {
    head: "Last error",
    class: "w-name",
    cell: ({ lastError }) =>
      lastError === null ? <span class="dim">–</span> : <code class="tag">{lastError}</code>,
  },
  {
    head: "Next try",
    class: "w-time end phone-off",
    cell: ({ nextAttemptAt, status }) => (
      <Time at={status === "succeeded" || status === "superseded" ? null : nextAttemptAt} class="dim" />
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
    cell: ({ id, name, actions }) => (
      <ActionButtons target={{ kind: "entry", id, name }} actions={actions} small />
    ),
  },
];

const EXAMPLE = `await db.transaction(async (tx) => {
  await tx.update(users).set({ deletedAt: now });
  await amends.erasure.eraseSubject("user-7", refs, { tx });
});`;

export function OutboxPage(): JSX.Element {
  const { query } = place.value;
  const filters = { subject: query.get("subject"), status: query.get("status"), kind: query.get("kind") };
  const pages = usePages<OutboxLine>(apiPath("outbox", { ...filters, limit: "40" }), {
    topics: ["outbox"],
    idOf,
  });
  const counts = useResource<Overview>("overview?window=1h", ["overview"]).data.value?.outbox;
  const narrowed = Object.values(filters).some(Boolean);
  return (
    <div class="page">
      <PageHead title="Outbox">
        <p>
          Calls and events that were written down in a transaction and leave after it: none is lost, none is
          early.
        </p>
      </PageHead>
      <div class="tools">
        <SearchBox label="Find a subject’s entries" placeholder="A subject’s id" param="subject" />
      </div>
      <Chips label="State" looks={outboxLooks} counts={counts} />
      <div class="card">
        <Table
          caption="Outbox entries"
          columns={columns}
          pages={pages}
          idOf={idOf}
          empty={
            narrowed ? (
              <Empty icon="search" tone="stone" title="No entry fits">
                <p>The subject’s id must be the whole one.</p>
              </Empty>
            ) : (
              <Empty icon="outbox" title="The outbox is empty" code={EXAMPLE}>
                <p>
                  What a transaction hands over is here from its commit until the other system has confirmed
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
