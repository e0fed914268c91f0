/** All sagas, newest first, with search and filters. */
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import type { SagaLine, SagaPage } from "../../../src/console/contract.ts";
import type { BulkAction } from "../../../src/console/contract-bulk.ts";
import { AttributeTags, MarkFilters } from "../parts/attribute-tags.tsx";
import { BulkButton } from "../parts/bulk-dialog.tsx";
import { Chips } from "../parts/chips.tsx";
import { Empty } from "../parts/empty.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { PausedPanel, PauseName } from "../parts/paused-panel.tsx";
import { SearchBox } from "../parts/search-box.tsx";
import { State } from "../parts/state.tsx";
import { StepStrip } from "../parts/step-strip.tsx";
import { RowLink, Table, type Column } from "../parts/table.tsx";
import { Span, Time } from "../parts/time.tsx";
import { SAGA_ACTIONS, type OpenedBulk } from "../store/bulk.ts";
import { changedSagas } from "../store/live.ts";
import { usePagedList } from "../store/paged-list.ts";
import { apiPath } from "../store/query.ts";
import { useCounts } from "../store/counts.ts";
import { hrefOf, route, setQuery } from "../store/route.ts";
import { sagaNames } from "../store/session.ts";
import { ENDED, sagaLook, sagaLooks } from "../store/states.ts";
import { formatDuration, formatTimes } from "../store/format.ts";

const idOf = ({ id }: SagaLine): string => id;

const columns: readonly Column<SagaLine>[] = [
  {
    head: "Saga",
    class: "phone-main",
    cell: ({ id, saga, attributes, archivedAt, isPaused }) => (
      <>
        <RowLink href={hrefOf(["sagas", id])} note={<code>{id}</code>}>
          {saga}
          {archivedAt !== null && (
            <>
              {" "}
              <span class="tag" data-tone="stone">
                archived
              </span>
            </>
          )}
          {isPaused && (
            <>
              {" "}
              <span class="tag" data-tone="copper">
                paused
              </span>
            </>
          )}
        </RowLink>
        <AttributeTags attributes={attributes} />
      </>
    ),
  },
  {
    head: "State",
    class: "w-state phone-end",
    cell: (saga) => <State look={sagaLook(saga)} />,
  },
  {
    head: "Steps, last error",
    class: "w-strip phone-wide",
    cell: ({ steps, lastError }) => (
      <span class="steps-cell">
        <StepStrip steps={steps} />
        {lastError !== null && (
          <code class="last-error clip above" data-tip={`Last error: ${lastError}`}>
            <span class="sr">Last error: </span>
            {lastError}
          </code>
        )}
      </span>
    ),
  },
  {
    head: "Took",
    class: "w-num end",
    label: "took",
    cell: ({ status, createdAt, runAt, isScheduled, durationMs, recoveries }) => (
      <span
        class="num nowrap above"
        data-tip={
          recoveries > 0 ? `Recovered after a crash: ${formatTimes(recoveries, "time", "times")}` : undefined
        }
      >
        {isScheduled ? (
          <Time at={runAt} planned />
        ) : ENDED.has(status) ? (
          formatDuration(durationMs)
        ) : (
          <Span from={runAt ?? createdAt} />
        )}
        {recoveries > 0 && (
          <>
            {" ↻"}
            <span class="sr"> recovered after a crash</span>
          </>
        )}
      </span>
    ),
  },
  {
    head: "Started",
    class: "w-time end phone-off",
    cell: ({ createdAt }) => <Time at={createdAt} class="dim" />,
  },
  {
    head: "Changed",
    class: "w-time end phone-end",
    cell: ({ updatedAt }) => <Time at={updatedAt} class="dim" />,
  },
];

/** Live notices carry changed sagas: the list itself is read only to find newer ones. */
const PACE_MS = 5_000;

const EXAMPLE = `const run = await amends.start(placeOrder, {
  orderId: "o-1", sku: "tea", cents: 1200,
}, { id: "o-1" });`;

export function SagasPage(): JSX.Element {
  const { query } = route.value;
  const path = apiPath("sagas", { ...pick(query), limit: "40" });
  const pages = usePagedList<SagaLine, SagaPage>(path, {
    topics: ["sagas"],
    idOf,
    paceMs: PACE_MS,
  });
  const overview = useCounts();
  useEffect(() => pages.update(changedSagas.value), [changedSagas.value, pages]);
  const narrowed = Object.values(pick(query)).some(Boolean);
  const searchedTo = pages.last.value?.searchedTo ?? null;
  return (
    <div class="page">
      <PageHead title="Sagas" actions={<PauseName of="sagas" name={query.get("name") ?? onlyName()} />}>
        <p>Multi-step processes that complete or roll back.</p>
      </PageHead>
      <div class="tools">
        <SearchBox label="Search sagas" placeholder="Id, name, state or field:value" />
        <NameFilter />
        <RangeFilter />
        <BulkButton bulk={bulkOf(query)} why={whyNoBulk(query)} />
      </div>
      <PausedPanel of="sagas" />
      <Chips label="State" looks={sagaLooks} counts={overview?.sagas.byStatus} />
      <MarkFilters />
      <div class="card">
        <Table
          caption="Sagas"
          columns={columns}
          pages={pages}
          idOf={idOf}
          empty={
            narrowed ? (
              <Empty icon="search" tone="stone" title="No matching sagas">
                <p>
                  Search finds the beginning of an id, a part of a name, a state, or a field of the input as{" "}
                  <code>field:value</code>.
                </p>
                <button type="button" class="btn" onClick={() => setQuery(NO_FILTERS)}>
                  Clear filters
                </button>
              </Empty>
            ) : (
              <Empty icon="sagas" title="No sagas yet" code={EXAMPLE}>
                <p>A saga appears here as soon as its start is committed.</p>
              </Empty>
            )
          }
        />
        {searchedTo !== null && (
          <p class="more">
            Searched back to <Time at={searchedTo} />. Show more to search further.
          </p>
        )}
      </div>
    </div>
  );
}

/** Each action takes the sagas of the list that it fits. */
function bulkOf(query: ReadonlyMap<string, string>): OpenedBulk {
  const { name, status, attributes, error, from } = pick(query);
  const given = { saga: name, status, attributes, error, since: from };
  const said = Object.entries(given).filter(([, value]) => value !== undefined && value !== "");
  const fitting = status === undefined || status === "" ? SAGA_ACTIONS : ACTIONS_IN[status];
  return { actions: fitting ?? SAGA_ACTIONS, items: Object.fromEntries(said) };
}

const ACTIONS_IN: Readonly<Record<string, readonly BulkAction[]>> = {
  STALLED: SAGA_ACTIONS,
  PENDING: ["cancel"],
  RUNNING: ["cancel", "skip", "resolve"],
};

function whyNoBulk(query: ReadonlyMap<string, string>): string | undefined {
  const { q, status, name, attributes, error, from } = pick(query);
  if (q) return "A search cannot be acted on: filter by name, state, attributes, error or time instead.";
  if (![status, name, attributes, error, from].some(Boolean))
    return "Filter the list first, such as by Stalled.";
  if (status && status.split(",").some((one) => !(one in ACTIONS_IN)))
    return "Only sagas that are stalled, running or pending can be acted on.";
  return undefined;
}

const NO_FILTERS = {
  q: undefined,
  status: undefined,
  name: undefined,
  range: undefined,
  attributes: undefined,
  error: undefined,
};

function pick(query: ReadonlyMap<string, string>): Readonly<Record<string, string | undefined>> {
  const rangeMs = RANGES.find(([name]) => name === query.get("range"))?.[2];
  return {
    q: query.get("q"),
    name: query.get("name"),
    status: query.get("status"),
    attributes: query.get("attributes"),
    error: query.get("error"),
    // Rounded to the minute, so that the query stays the same for a while.
    from:
      rangeMs === undefined
        ? undefined
        : new Date(Math.floor((Date.now() - rangeMs) / 60_000) * 60_000).toISOString(),
  };
}

const RANGES: readonly (readonly [string, string, number])[] = [
  ["1h", "Last hour", 3_600_000],
  ["24h", "Last 24 hours", 86_400_000],
  ["7d", "Last 7 days", 604_800_000],
];

/** There is nothing to choose from. */
function onlyName(): string | undefined {
  const names = sagaNames();
  return names.length === 1 ? names[0] : undefined;
}

function NameFilter(): JSX.Element | null {
  const names = sagaNames();
  if (names.length < 2) return null;
  return (
    <select
      class="select"
      aria-label="Saga"
      value={route.value.query.get("name") ?? ""}
      onChange={(event) => setQuery({ name: event.currentTarget.value })}
    >
      <option value="">All sagas</option>
      {names.map((name) => (
        <option key={name} value={name}>
          {name}
        </option>
      ))}
    </select>
  );
}

function RangeFilter(): JSX.Element {
  return (
    <select
      class="select"
      aria-label="Changed"
      value={route.value.query.get("range") ?? ""}
      onChange={(event) => setQuery({ range: event.currentTarget.value })}
    >
      <option value="">Any time</option>
      {RANGES.map(([name, word]) => (
        <option key={name} value={name}>
          {word}
        </option>
      ))}
    </select>
  );
}
