/** Requests of data subjects: to be erased, or to be corrected, everywhere. */
import type { JSX } from "preact";
import type { ErasureLine } from "../../../src/console/contract-parts.ts";
import { Chips } from "../parts/chips.tsx";
import { Empty } from "../parts/empty.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { SearchBox } from "../parts/search-box.tsx";
import { State } from "../parts/state.tsx";
import { RowLink, Table, type Column } from "../parts/table.tsx";
import { Time } from "../parts/time.tsx";
import { usePages } from "../store/pages.ts";
import { apiPath } from "../store/query.ts";
import { hrefOf, place } from "../store/route.ts";
import type { Look } from "../store/states.ts";

export const erasureLooks: Readonly<Record<"overdue" | "open" | "completed", Look>> = {
  overdue: { word: "Overdue", tone: "rose", icon: "alert", means: "The legal deadline has passed." },
  open: { word: "Open", tone: "sky", icon: undefined, means: "Some system has yet to confirm." },
  completed: { word: "Completed", tone: "sea", icon: "check", means: "Every system has confirmed." },
};

export function erasureLook({ completedAt, overdue }: ErasureLine): Look {
  return completedAt !== null ? erasureLooks.completed : overdue ? erasureLooks.overdue : erasureLooks.open;
}

const idOf = ({ subjectId, operation, requestedAt }: ErasureLine): string =>
  `${subjectId} ${operation} ${requestedAt}`;

const columns: readonly Column<ErasureLine>[] = [
  {
    head: "Subject",
    class: "phone-main",
    cell: ({ subjectId, operation }) => (
      <RowLink
        href={hrefOf(["erasures", subjectId])}
        note={operation === "erase" ? "erasure" : "rectification"}
      >
        {subjectId}
      </RowLink>
    ),
  },
  { head: "State", class: "w-state phone-end", cell: (line) => <State look={erasureLook(line)} /> },
  {
    head: "Still open",
    class: "w-num end",
    label: "open entries",
    cell: ({ open }) => <span class="num">{open}</span>,
  },
  {
    head: "Requested",
    class: "w-time end phone-off",
    cell: ({ requestedAt }) => <Time at={requestedAt} class="dim" />,
  },
  { head: "Due by", class: "w-time end", label: "due", cell: ({ dueBy }) => <Time at={dueBy} class="dim" /> },
  {
    head: "Completed",
    class: "w-time end phone-off",
    cell: ({ completedAt }) => <Time at={completedAt} class="dim" />,
  },
];

const EXAMPLE = `const amends = new Amends({ database, erasure: { dataMap, resolvers } });
await db.transaction((tx) =>
  amends.erasure.eraseSubject("user-7", [{ kind: "stripe", value: "cus_9" }], { tx }));`;

export function ErasuresPage(): JSX.Element {
  const { query } = place.value;
  const filters = { q: query.get("q"), status: query.get("status") };
  const pages = usePages<ErasureLine>(apiPath("erasures", { ...filters, limit: "40" }), {
    topics: ["erasures", "outbox"],
    idOf,
  });
  const narrowed = Object.values(filters).some(Boolean);
  return (
    <div class="page">
      <PageHead title="Erasures">
        <p>
          Who asked to be erased or corrected, which systems have confirmed it, and by when the law wants it
          done.
        </p>
      </PageHead>
      <div class="tools">
        <SearchBox label="Find a subject" placeholder="A subject’s id" />
      </div>
      <Chips label="State" looks={erasureLooks} />
      <div class="card">
        <Table
          caption="Requests of data subjects"
          columns={columns}
          pages={pages}
          idOf={idOf}
          empty={
            narrowed ? (
              <Empty icon="search" tone="stone" title="No request fits">
                <p>Search by the subject’s whole id.</p>
              </Empty>
            ) : (
              <Empty icon="erasures" title="Nobody has asked yet" code={EXAMPLE}>
                <p>Each request leaves a trail here that shows, system by system, that it was carried out.</p>
              </Empty>
            )
          }
        />
      </div>
    </div>
  );
}
