/** Event flows: processes in which handlers answer events with events. */
import type { JSX } from "preact";
import type { Overview } from "../../../src/console/contract.ts";
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
import { useResource } from "../store/resource.ts";
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
    head: "Now at",
    class: "w-name phone-wide",
    label: "at",
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
    head: "ApiError",
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

const EXAMPLE = `const conventionInit = eventSaga("convention_init", {
  trigger: ConventionRegistered,
  correlate: "conventionSrn",
  steps: [step("create_schema", createSchema)],
});`;

export function FlowsPage(): JSX.Element {
  const { query } = route.value;
  const filters = { q: query.get("q"), type: query.get("type"), status: query.get("status") };
  const pages = usePagedList<FlowLine>(apiPath("flows", { ...filters, limit: "40" }), {
    topics: ["flows"],
    idOf,
  });
  const counts = useResource<Overview>("overview?window=1h", ["overview"]).data.value?.flows;
  const narrowed = Object.values(filters).some(Boolean);
  return (
    <div class="page">
      <PageHead title="Event flows">
        <p>
          Handlers take events and answer with events; the orchestrator keeps the thread and undoes it if it
          must.
        </p>
      </PageHead>
      <div class="tools">
        <SearchBox label="Search event flows" placeholder="A process, or a part of a type" />
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
              <Empty icon="search" tone="stone" title="No flow fits">
                <p>Search looks at the beginning of process ids and at parts of types.</p>
              </Empty>
            ) : (
              <Empty icon="flows" title="No event flow has begun yet" code={EXAMPLE}>
                <p>A flow begins when its trigger event is emitted, and is visible from that moment.</p>
              </Empty>
            )
          }
        />
      </div>
    </div>
  );
}
