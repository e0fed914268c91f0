/** Erasure and rectification requests of data subjects. */
import type { JSX } from "preact";
import type { ErasureLine } from "../../../src/console/contract-parts.ts";
import { Chips } from "../parts/chips.tsx";
import { Empty } from "../parts/empty.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { SearchBox } from "../parts/search-box.tsx";
import { State } from "../parts/state.tsx";
import { RowLink, Table, type Column } from "../parts/table.tsx";
import { Time } from "../parts/time.tsx";
import { usePagedList } from "../store/paged-list.ts";
import { apiPath } from "../store/query.ts";
import { hrefOf, route } from "../store/route.ts";
import type { Look } from "../store/states.ts";

const erasureLooks: Readonly<Record<"overdue" | "open" | "completed", Look>> = {
  overdue: { word: "Overdue", tone: "rose", icon: "alert", meaning: "The legal deadline has passed." },
  open: { word: "Open", tone: "sky", icon: undefined, meaning: "Some systems have not confirmed yet." },
  completed: { word: "Completed", tone: "sea", icon: "check", meaning: "Every system has confirmed." },
};

const blocked: Look = {
  word: "Blocked",
  tone: "rose",
  icon: "alert",
  meaning: "A system rejected the request or was unavailable: requeue it, or resolve it with evidence.",
};

export function erasureLook({ completedAt, overdue, abandoned }: ErasureLine): Look {
  if (completedAt !== null) return erasureLooks.completed;
  if (overdue) return erasureLooks.overdue;
  return abandoned > 0 ? blocked : erasureLooks.open;
}

const idOf = ({ subjectId, operation, requestedAt }: ErasureLine): string =>
  `${subjectId} ${operation} ${requestedAt}`;

const columns: readonly Column<ErasureLine>[] = [
  {
    head: "Data subject",
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
    head: "Open entries",
    class: "w-num end",
    label: "open entries",
    cell: ({ open }) => <span class="num">{open}</span>,
  },
  {
    head: "Requested",
    class: "w-time end phone-off",
    cell: ({ requestedAt }) => <Time at={requestedAt} class="dim" />,
  },
  {
    head: "Due by",
    class: "w-time end",
    label: "due",
    cell: ({ dueBy, completedAt }) => <Time at={dueBy} class="dim" planned={completedAt === null} />,
  },
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
  const { query } = route.value;
  const filters = { q: query.get("q"), status: query.get("status") };
  const pages = usePagedList<ErasureLine>(apiPath("erasures", { ...filters, limit: "40" }), {
    topics: ["erasures", "outbox"],
    idOf,
  });
  const narrowed = Object.values(filters).some(Boolean);
  return (
    <div class="page">
      <PageHead title="Erasures">
        <p>Erasure and rectification requests, which systems have confirmed them, and the legal deadline.</p>
      </PageHead>
      <div class="tools">
        <SearchBox label="Search by data subject" placeholder="Data subject id" />
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
              <Empty icon="search" tone="stone" title="No matching requests">
                <p>Search needs the whole id of the data subject.</p>
              </Empty>
            ) : (
              <Empty icon="erasures" title="No requests yet" code={EXAMPLE}>
                <p>Each request has a trail that shows, system by system, that it was carried out.</p>
              </Empty>
            )
          }
        />
      </div>
    </div>
  );
}
