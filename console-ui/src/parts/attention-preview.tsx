/** The first items that need attention, on the overview. Its space is kept whether there are any or not. */
import type { JSX } from "preact";
import { useLayoutEffect } from "preact/hooks";
import type { AttentionLine, Page } from "../../../src/console/contract.ts";
import { recordAttentionList } from "../store/attention-count.ts";
import { attentionKind, titleOf } from "../store/attention-kinds.ts";
import { useResource } from "../store/resource.ts";
import { hrefOf } from "../store/route.ts";
import { Empty, LoadError, Skeleton } from "./empty.tsx";
import { Icon } from "./icon.tsx";
import { Time } from "./time.tsx";

const SHOWN = 5;

export function AttentionPreview(): JSX.Element {
  const { data, loadError, reload } = useResource<Page<AttentionLine>>(`attention?limit=${SHOWN}`, [
    "attention",
  ]);
  const items = data.value?.items;
  const failure = loadError.value;
  const length = data.value?.next === null ? items?.length : undefined;
  useLayoutEffect(() => {
    recordAttentionList(length);
    return () => recordAttentionList(undefined);
  }, [length]);
  return (
    <section class="card" aria-label="Needs attention">
      <div class="card-head">
        <h2>Needs attention</h2>
        <a class="link" href={hrefOf(["attention"])}>
          See all
        </a>
      </div>
      <div class="needs">
        {items === undefined && failure && <LoadError error={failure} retry={reload} />}
        {items?.length === 0 && (
          <Empty icon="check" title="All clear" small>
            <p>Items that cannot continue by themselves appear here.</p>
          </Empty>
        )}
        <ul>
          {items === undefined && !failure
            ? Array.from({ length: SHOWN }, (_, index) => (
                <li key={index} class="need">
                  <Skeleton width="60%" />
                </li>
              ))
            : items?.map((item) => <Need key={`${item.kind} ${item.id}`} item={item} />)}
        </ul>
      </div>
    </section>
  );
}

function Need({ item }: { readonly item: AttentionLine }): JSX.Element {
  const { word, icon, href } = attentionKind(item.kind);
  return (
    <li class="need">
      <span class="need-icon" data-tone="rose">
        <Icon name={icon} />
      </span>
      <span class="cell-2">
        <a class="row-link clip" href={href(item.id)} data-row>
          {titleOf(item)}
        </a>
        <small class="clip">
          {word}: {item.reason}
        </small>
      </span>
      <Time at={item.since} class="dim" />
    </li>
  );
}
