/** Schedules: when each ticks next, and what became of its last tick. */
import type { JSX } from "preact";
import type { ScheduleLine } from "../../../src/console/contract-parts.ts";
import { Chips } from "../parts/chips.tsx";
import { Empty } from "../parts/empty.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { SearchBox } from "../parts/search-box.tsx";
import { State } from "../parts/state.tsx";
import { RowLink, Table, type Column } from "../parts/table.tsx";
import { TickState } from "../parts/tick-state.tsx";
import { Time } from "../parts/time.tsx";
import { usePagedList } from "../store/paged-list.ts";
import { apiPath } from "../store/query.ts";
import { hrefOf, route } from "../store/route.ts";
import { lookOf, scheduleLooks } from "../store/states.ts";

const idOf = ({ id }: ScheduleLine): string => id;

const columns: readonly Column<ScheduleLine>[] = [
  {
    head: "Schedule",
    class: "phone-main",
    cell: ({ id, cron, timezone }) => (
      <RowLink
        href={hrefOf(["schedules", id])}
        note={
          <>
            <code>{cron}</code> · {timezone}
          </>
        }
      >
        {id}
      </RowLink>
    ),
  },
  {
    head: "State",
    class: "w-state phone-end",
    cell: ({ status }) => <State look={lookOf(scheduleLooks, status)} />,
  },
  {
    head: "Saga",
    class: "w-name phone-off",
    cell: ({ saga, version }) => (
      <span class="clip" data-tip={`version ${version}`}>
        {saga}
      </span>
    ),
  },
  {
    head: "Last tick",
    class: "w-tick phone-wide",
    cell: ({ last }) => (last === null ? <span class="dim">none yet</span> : <TickState tick={last} />),
  },
  {
    head: "Next tick",
    class: "w-time end",
    label: "next",
    cell: ({ next }) => <Time at={next?.beginsAt} class="dim" planned />,
  },
];

const EXAMPLE = `await amends.schedules.put("nightly-invoices", {
  cron: "0 3 * * *", timezone: "Europe/Berlin",
  saga: invoice, input: {},
});`;

export function SchedulesPage(): JSX.Element {
  const { query } = route.value;
  const filters = { q: query.get("q"), status: query.get("status") };
  const pages = usePagedList<ScheduleLine>(apiPath("schedules", { ...filters, limit: "40" }), {
    topics: ["schedules"],
    idOf,
    whole: true,
  });
  const narrowed = Object.values(filters).some(Boolean);
  return (
    <div class="page">
      <PageHead title="Schedules">
        <p>Each tick of a schedule starts one saga, whose id says the tick.</p>
      </PageHead>
      <div class="tools">
        <SearchBox label="Search schedules" placeholder="Beginning of a name" />
      </div>
      <Chips label="State" looks={scheduleLooks} />
      <div class="card">
        <Table
          caption="Schedules"
          columns={columns}
          pages={pages}
          idOf={idOf}
          empty={
            narrowed ? (
              <Empty icon="search" tone="stone" title="No matching schedules">
                <p>Search finds the beginning of a name.</p>
              </Empty>
            ) : (
              <Empty icon="schedules" title="No schedules yet" code={EXAMPLE}>
                <p>A schedule starts a saga at the times that a cron text names.</p>
              </Empty>
            )
          }
        />
      </div>
    </div>
  );
}
