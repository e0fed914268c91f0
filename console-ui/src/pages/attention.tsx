/** All items that need an operator, with what each needs and the actions that it allows. */
import type { JSX } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { ActionLine, AttentionLine, Page } from "../../../src/console/contract.ts";
import { ActionButtons } from "../parts/action-buttons.tsx";
import { BulkButton } from "../parts/bulk-dialog.tsx";
import { Empty, LoadError, Skeleton } from "../parts/empty.tsx";
import { Icon } from "../parts/icon.tsx";
import { useKeptFocus } from "../parts/kept-focus.ts";
import { PageHead } from "../parts/page-head.tsx";
import { Time } from "../parts/time.tsx";
import { specOf } from "../store/actions.ts";
import { recordAttentionList } from "../store/attention-count.ts";
import { attentionKind, targetOf, titleOf } from "../store/attention-kinds.ts";
import { actionWords } from "../store/action-words.ts";
import { SAGA_ACTIONS, type OpenedBulk } from "../store/bulk.ts";
import { usePagedList } from "../store/paged-list.ts";
import { useResource } from "../store/resource.ts";
import { hrefOf, route, setQuery } from "../store/route.ts";

const idOf = ({ kind, id }: AttentionLine): string => `${kind} ${id}`;

export function AttentionPage(): JSX.Element {
  const pages = usePagedList<AttentionLine>("attention?limit=50", {
    topics: ["attention"],
    idOf,
    whole: true,
  });
  const all = pages.items.value;
  const failure = pages.loadError.value;
  const chosen = route.value.query.get("kind") ?? "";
  const kinds = [...new Set(all?.map(({ kind }) => kind))];
  const items = all?.filter(({ kind }) => chosen === "" || kind === chosen);
  const list = useRef<HTMLUListElement>(null);
  useKeptFocus(list, all);
  const length = pages.more.value ? undefined : all?.length;
  useLayoutEffect(() => {
    recordAttentionList(length);
    return () => recordAttentionList(undefined);
  }, [length]);
  return (
    <div class="page">
      <PageHead title="Needs attention">
        <p>Items that cannot continue by themselves. Every action needs a reason and is audited.</p>
      </PageHead>
      {kinds.length > 1 && (
        <div class="chips" role="group" aria-label="Kind">
          <button
            type="button"
            class="chip"
            aria-pressed={chosen === ""}
            onClick={() => setQuery({ kind: undefined })}
          >
            All
          </button>
          {kinds.map((kind) => (
            <button
              key={kind}
              type="button"
              class="chip"
              aria-pressed={chosen === kind}
              onClick={() => setQuery({ kind: chosen === kind ? undefined : kind })}
            >
              <Icon name={attentionKind(kind).icon} size={13} />
              {attentionKind(kind).word}
            </button>
          ))}
        </div>
      )}
      {bulkOf(chosen) && (
        <div class="tools">
          <BulkButton bulk={bulkOf(chosen) as OpenedBulk} />
        </div>
      )}
      {all === undefined && failure && (
        <div class="card">
          <LoadError error={failure} retry={pages.reload} />
        </div>
      )}
      {all === undefined && !failure && <Skeletons />}
      {items?.length === 0 && <AllClear />}
      <ul class="attention-list" ref={list}>
        {items?.map((item) => (
          <AttentionCard key={idOf(item)} item={item} />
        ))}
      </ul>
      {pages.more.value && (
        <div class="tools">
          <button type="button" class="btn" disabled={pages.busy.value} onClick={pages.loadMore}>
            Show more
          </button>
        </div>
      )}
    </div>
  );
}

/** The kinds of which one action helps many. */
function bulkOf(kind: string): OpenedBulk | undefined {
  switch (kind) {
    case "stalled-saga":
      return { actions: SAGA_ACTIONS, items: { status: "STALLED" } };
    case "abandoned-call":
      return { actions: ["requeue"], items: { kind: "call", status: "abandoned" } };
    case "abandoned-entry":
      return { actions: ["requeue"], items: { kind: "erasure", status: "abandoned" } };
    case "dead-letter":
      return { actions: ["resend"], items: { status: "DeadLettered" } };
    default:
      return undefined;
  }
}

function AllClear(): JSX.Element {
  const last = useResource<Page<ActionLine>>("audit?limit=1", ["audit"]).data.value?.items[0];
  return (
    <div class="card">
      <Empty icon="check" title="All clear">
        <p>Nothing needs an operator. Items that cannot continue by themselves appear here.</p>
        {last && (
          <p class="dim">
            Last operator action: {actionWords(last)}, <Time at={last.at} />, by {last.by}.{" "}
            <a class="link" href={hrefOf(["audit"])}>
              Audit log
            </a>
          </p>
        )}
      </Empty>
    </div>
  );
}

function AttentionCard({ item }: { readonly item: AttentionLine }): JSX.Element {
  const { word, icon, needs, href } = attentionKind(item.kind);
  const target = targetOf(item);
  const actions = target ? item.actions.filter((action) => specOf(target, action)) : [];
  return (
    <li class="card attention-card" data-kind={item.kind} data-item={idOf(item)}>
      <span class="need-icon" data-tone="rose">
        <Icon name={icon} />
      </span>
      <div class="attention-words">
        <div class="attention-title">
          <a class="row-link" href={href(item.id)} data-row>
            {titleOf(item)}
          </a>
          <span class="tag" data-tone="rose">
            {word}
          </span>
        </div>
        <p class={isAddress(item.reason) ? undefined : "sentence"}>{item.reason}</p>
        <p class="dim">{needs(item)}</p>
      </div>
      <div class="attention-side">
        <Time at={item.since} class="dim" />
        <div class="row-actions">
          {target && <ActionButtons target={target} actions={actions} small />}
          {actions.length === 0 && href(item.id) !== hrefOf(["attention"]) && (
            <a class="btn above" data-size="s" href={href(item.id)}>
              Open
            </a>
          )}
        </div>
      </div>
    </li>
  );
}

function Skeletons(): JSX.Element {
  return (
    <div class="attention-list" aria-busy="true">
      {[0, 1, 2, 3].map((index) => (
        <div key={index} class="card attention-card">
          <span />
          <Skeleton width="50%" />
        </div>
      ))}
    </div>
  );
}

/** An address keeps its small first letter. */
function isAddress(words: string): boolean {
  return /^https?:/.test(words);
}
