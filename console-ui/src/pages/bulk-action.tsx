/** One bulk action: its progress, the items that were refused, and a stop. */
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import type { BulkDetail } from "../../../src/console/contract-bulk.ts";
import { ActionButtons } from "../parts/action-buttons.tsx";
import { CopyId } from "../parts/copy.tsx";
import { DetailPage } from "../parts/detail-frame.tsx";
import { Empty } from "../parts/empty.tsx";
import { Facts } from "../parts/facts.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { ProgressBar } from "../parts/progress-bar.tsx";
import { State } from "../parts/state.tsx";
import { Time } from "../parts/time.tsx";
import { bulkLooks, bulkSpecs, countWords, filterWords } from "../store/bulk.ts";
import { formatCount } from "../store/format.ts";
import { hrefOf, navigate } from "../store/route.ts";
import { lookOf } from "../store/states.ts";

const FROM = { href: hrefOf(["bulk"]), word: "Bulk actions" };
const PACE_MS = 1_000;

export function BulkActionPage({ id }: { readonly id: string }): JSX.Element {
  return (
    <DetailPage<BulkDetail> path={`bulk/${encodeURIComponent(id)}`} topics={["audit"]} from={FROM}>
      {(bulk, { accept, reload }) => <Detail bulk={bulk} accept={accept} reload={reload} />}
    </DetailPage>
  );
}

interface Props {
  readonly bulk: BulkDetail;
  readonly accept: (bulk: BulkDetail) => void;
  readonly reload: () => void;
}

function Detail({ bulk, accept, reload }: Props): JSX.Element {
  const { id, action, done, refused, total, exact, kind, endedAt } = bulk;
  const isOpen = endedAt === null;
  useEffect(() => {
    if (!isOpen) return undefined;
    const timer = setInterval(() => document.hidden || reload(), PACE_MS);
    return () => clearInterval(timer);
  }, [isOpen, reload]);
  const onDone = (answer: unknown): void => {
    const after = answer as BulkDetail;
    if (after.id === id) accept(after);
    else navigate(hrefOf(["bulk", after.id]));
  };
  return (
    <>
      <PageHead
        from={FROM}
        title={
          <span class="title-line">
            {bulkSpecs[action].label} {countWords(kind, total, exact)}{" "}
            <State look={lookOf(bulkLooks, bulk.status)} />
          </span>
        }
        actions={
          <ActionButtons
            target={{ kind: "bulk", id, name: `${action} ${countWords(kind, total, exact)}` }}
            actions={bulk.actions}
            onDone={onDone}
          />
        }
      >
        <p>{bulk.reason}</p>
      </PageHead>
      <section class="card" aria-label="Progress">
        <div class="card-body">
          <ProgressBar
            done={done + refused}
            total={Math.max(total, done + refused)}
            label="Items carried out or refused"
          />
          <p class="dim">
            {formatCount(done)} done, {formatCount(refused)} refused
            {exact ? "" : `; there were ${formatCount(total)} or more at the start`}
          </p>
        </div>
      </section>
      <div class="split">
        <Refused bulk={bulk} />
        <section class="card" aria-label="Facts">
          <div class="card-head">
            <h2>Facts</h2>
          </div>
          <div class="card-body">
            <Facts rows={factsOf(bulk)} />
          </div>
        </section>
      </div>
    </>
  );
}

function Refused({ bulk: { kind, refusals, refused } }: { readonly bulk: BulkDetail }): JSX.Element {
  return (
    <section class="card" aria-label="Refused items">
      <div class="card-head">
        <h2>Refused items</h2>
        {refused > refusals.length && <span class="dim">the first {formatCount(refusals.length)}</span>}
      </div>
      {refusals.length === 0 ? (
        <Empty icon="check" tone="stone" title="None" small />
      ) : (
        <ul class="ticks">
          {refusals.map(({ id, code }) => (
            <li key={id} class="tick-row">
              <a class="link clip mono" href={hrefOf([...paths[kind], id])}>
                {id}
              </a>
              <code class="dim">{code}</code>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

const paths: Readonly<Record<BulkDetail["kind"], readonly string[]>> = {
  saga: ["sagas"],
  call: ["outbox"],
  erasure: ["outbox"],
  delivery: ["webhooks", "deliveries"],
};

function factsOf(bulk: BulkDetail): readonly (readonly [string, JSX.Element | string])[] {
  const { id, by, step, as, createdAt, updatedAt, endedAt, stop } = bulk;
  return [
    ["Id", <CopyId key="id" id={id} label="id of the bulk action" />],
    ["Items", filterWords(bulk)],
    ...(step === null ? [] : [["Step", step] as const]),
    ...(as === null ? [] : [["Outcome", as] as const]),
    ["By", by ?? "unknown"],
    ["Started", <Time key="c" at={createdAt} focusable />],
    endedAt === null
      ? (["Last progress", <Time key="u" at={updatedAt} focusable />] as const)
      : (["Ended", <Time key="e" at={endedAt} focusable />] as const),
    ...(stop ? [["Stopped", `${stop.reason} (${stop.by ?? "unknown"})`] as const] : []),
  ];
}
