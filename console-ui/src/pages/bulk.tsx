/** Bulk actions, the newest first, each with its progress. */
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import type { BulkLine } from "../../../src/console/contract-bulk.ts";
import type { Page } from "../../../src/console/contract.ts";
import { Empty } from "../parts/empty.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { ProgressBar } from "../parts/progress-bar.tsx";
import { State } from "../parts/state.tsx";
import { RowLink, Table, type Column } from "../parts/table.tsx";
import { Time } from "../parts/time.tsx";
import { get } from "../store/api.ts";
import { bulkLooks, bulkSpecs, countWords, filterWords } from "../store/bulk.ts";
import { formatCount } from "../store/format.ts";
import { usePagedList } from "../store/paged-list.ts";
import { hrefOf } from "../store/route.ts";
import { lookOf } from "../store/states.ts";

const idOf = ({ id }: BulkLine): string => id;

const columns: readonly Column<BulkLine>[] = [
  {
    head: "Bulk action",
    class: "phone-main",
    cell: (line) => (
      <RowLink href={hrefOf(["bulk", line.id])} note={<span data-tip={line.reason}>{line.reason}</span>}>
        {bulkSpecs[line.action].label}: {filterWords(line)}
      </RowLink>
    ),
  },
  {
    head: "State",
    class: "w-state phone-end",
    cell: ({ status }) => <State look={lookOf(bulkLooks, status)} />,
  },
  {
    head: "Progress",
    class: "w-strip phone-wide",
    cell: ({ done, refused, total, kind, exact }) => (
      <ProgressBar done={done + refused} total={total} label={countWords(kind, total, exact)} />
    ),
  },
  {
    head: "Refused",
    class: "w-num end",
    label: "refused",
    cell: ({ refused }) => <span class="num">{formatCount(refused)}</span>,
  },
  {
    head: "Started",
    class: "w-time end phone-off",
    cell: ({ createdAt }) => <Time at={createdAt} class="dim" />,
  },
];

/** While one is carried out: its own progress makes no notice. */
const PACE_MS = 2_000;
const PATH = "bulk?limit=40";

export function BulkPage(): JSX.Element {
  const pages = usePagedList<BulkLine>(PATH, { topics: ["audit", "overview"], idOf, whole: true });
  const isOpen = pages.items.value?.some(({ endedAt }) => endedAt === null) === true;
  useEffect(() => {
    if (!isOpen) return undefined;
    const look = async (): Promise<void> => {
      if (document.hidden) return;
      // The list itself says when the server cannot be reached.
      const page = await get<Page<BulkLine>>(PATH).catch(() => undefined);
      if (page) pages.update(page.items);
    };
    const timer = setInterval(() => void look(), PACE_MS);
    return () => clearInterval(timer);
  }, [isOpen, pages]);
  return (
    <div class="page">
      <PageHead title="Bulk actions">
        <p>One action on many items, carried out in the background. Each item is recorded with the reason.</p>
      </PageHead>
      <div class="card">
        <Table
          caption="Bulk actions"
          columns={columns}
          pages={pages}
          idOf={idOf}
          empty={
            <Empty icon="bulk" title="No bulk actions yet">
              <p>“Act on all” of a list of sagas, of attention items or of deliveries starts one.</p>
            </Empty>
          }
        />
      </div>
    </div>
  );
}
