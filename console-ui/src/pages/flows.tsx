/** Event flows: processes in which handlers answer events with events. */
import type { JSX } from "preact";
import type { FlowLine } from "../../../src/console/contract-parts.ts";
import { Chips } from "../parts/chips.tsx";
import { Empty } from "../parts/empty.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { SearchBox } from "../parts/search-box.tsx";
import { State } from "../parts/state.tsx";
import { RowLink, Table, type Column } from "../parts/table.tsx";
import { Time } from "../parts/time.tsx";
import { usePagedList } from "../store/paged-list.ts";
import { apiPath } from "../store/query.ts";
import { useCounts } from "../store/counts.ts";
import { hrefOf, route } from "../store/route.ts";
import { flowLooks, lookOf } from "../store/states.ts";

const idOf = ({ id }: FlowLine): string => id;

const columns: readonly Column<FlowLine>[] = [
  {
    head: "Flow",
    class: "phone-main",
    cell: ({ id, type, processId, run }) => (
      <RowLink
        href={hrefOf(["flows", id])}
        note={
          <>
            <code>{processId}</code>
            {run > 1 ? ` · run ${run}` : ""}
          </>
        }
      >
        {type}
      </RowLink>
    ),
  },
  {
    head: "State",
    class: "w-state phone-end",
    cell: ({ status }) => <State look={lookOf(flowLooks, status)} />,
  },
  {
    head: "Current step",
    class: "w-name phone-wide",
    label: "step",
    cell: ({ currentStep, completedSteps }) => (
      <span
        class="clip"
        data-tip={completedSteps.length > 0 ? `done: ${completedSteps.join(", ")}` : undefined}
      >
        {currentStep ?? <span class="dim">–</span>}
      </span>
    ),
  },
  {
    head: "Last error",
    class: "w-name phone-off",
    cell: ({ errorLabel }) =>
      errorLabel ? <code class="tag">{errorLabel}</code> : <span class="dim">–</span>,
  },
  { head: "Started", class: "w-time end", cell: ({ startedAt }) => <Time at={startedAt} class="dim" /> },
  {
    head: "Changed",
    class: "w-time end phone-end",
    cell: ({ updatedAt }) => <Time at={updatedAt} class="dim" />,
  },
];

const EXAMPLE = `const placeOrder = eventSaga("place-order", {
  trigger: OrderPlaced,
  correlate: "orderId",
  steps: [step("reserve", reserve), step("charge", charge)],
});`;

export function FlowsPage(): JSX.Element {
  const { query } = route.value;
  const filters = { q: query.get("q"), type: query.get("type"), status: query.get("status") };
  const pages = usePagedList<FlowLine>(apiPath("flows", { ...filters, limit: "40" }), {
    topics: ["flows"],
    idOf,
  });
  const counts = useCounts()?.flows;
  const narrowed = Object.values(filters).some(Boolean);
  return (
    <div class="page">
      <PageHead title="Event flows">
        <p>
          Handlers receive events and answer with events; the orchestrator tracks each process and rolls it
          back if a step fails.
        </p>
      </PageHead>
      <div class="tools">
        <SearchBox label="Search event flows" placeholder="Process id, or part of a type" />
      </div>
      <Chips label="State" looks={flowLooks} counts={counts} />
      <div class="card">
        <Table
          caption="Event flows"
          columns={columns}
          pages={pages}
          idOf={idOf}
          empty={
            narrowed ? (
              <Empty icon="search" tone="stone" title="No matching flows">
                <p>Search finds the beginning of a process id, or a part of a type.</p>
              </Empty>
            ) : (
              <Empty icon="flows" title="No event flows yet" code={EXAMPLE}>
                <p>A flow starts when its trigger event is published, and is visible from then on.</p>
              </Empty>
            )
          }
        />
      </div>
    </div>
  );
}
