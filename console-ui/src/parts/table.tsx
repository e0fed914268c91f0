/**
 * A list as a table. Columns are data, so that the head, the rows and the skeleton cannot disagree; on a phone each row
 * becomes a small card. The first column's link covers the whole row.
 */
import type { ComponentChildren, JSX } from "preact";
import { useRef } from "preact/hooks";
import type { Pages } from "../store/paged-list.ts";
import { formatCount } from "../store/format.ts";
import { LoadError, Skeleton } from "./empty.tsx";
import { Icon } from "./icon.tsx";
import { useKeptFocus } from "./kept-focus.ts";

export interface Column<Item> {
  readonly head: string;
  readonly cell: (item: Item) => ComponentChildren;
  readonly class?: string;
  /** Stands before the value on a phone, where there are no heads. */
  readonly label?: string;
}

interface Props<Item> {
  readonly caption: string;
  readonly columns: readonly Column<Item>[];
  readonly pages: Pages<Item>;
  readonly idOf: (item: Item) => string;
  readonly empty: ComponentChildren;
  readonly linked?: boolean;
}

const SKELETON_ROWS = 8;

export function Table<Item>(props: Props<Item>): JSX.Element {
  const { pages, columns, caption } = props;
  const items = pages.items.value;
  const loadError = pages.loadError.value;
  const list = useRef<HTMLDivElement>(null);
  useKeptFocus(list, items);
  if (items === undefined && loadError) return <LoadError error={loadError} retry={pages.reload} />;
  if (items?.length === 0 && !pages.stale.value) return <>{props.empty}</>;
  return (
    <div class="list" ref={list} data-stale={pages.stale.value && items !== undefined}>
      <NewerButton pages={pages} />
      <table class="table">
        <caption class="sr">{caption}</caption>
        <thead>
          <tr>
            {columns.map(({ head, class: extra }) => (
              <th key={head} scope="col" class={extra}>
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody aria-busy={items === undefined}>
          {items === undefined ? (
            <SkeletonRows columns={columns} />
          ) : (
            items.map((item) => <Row key={props.idOf(item)} item={item} {...props} />)
          )}
        </tbody>
      </table>
      <More pages={pages} />
    </div>
  );
}

function Row<Item>({
  item,
  columns,
  idOf,
  linked = true,
}: Props<Item> & { readonly item: Item }): JSX.Element {
  return (
    <tr data-linked={linked} data-item={idOf(item)}>
      {columns.map(({ head, cell, class: extra, label }) => (
        <td key={head} class={extra} data-label={label}>
          {cell(item)}
        </td>
      ))}
    </tr>
  );
}

function SkeletonRows<Item>({ columns }: { readonly columns: readonly Column<Item>[] }): JSX.Element {
  return (
    <>
      {Array.from({ length: SKELETON_ROWS }, (_, index) => (
        <tr key={index}>
          {columns.map(({ head, class: extra }) => (
            <td key={head} class={extra}>
              <Skeleton width={`${60 + ((index * 37 + head.length * 23) % 90)}px`} />
            </td>
          ))}
        </tr>
      ))}
    </>
  );
}

/** Lies over the free part of the first column's head, so that its coming and going moves and hides nothing. */
function NewerButton<Item>({ pages }: { readonly pages: Pages<Item> }): JSX.Element | null {
  const count = pages.newer.value;
  if (count === 0) return null;
  return (
    <button type="button" class="newer" onClick={pages.reload} data-newer>
      <Icon name="retry" size={12} />
      {formatCount(count)} newer
    </button>
  );
}

function More<Item>({ pages }: { readonly pages: Pages<Item> }): JSX.Element | null {
  const loadError = pages.loadError.value;
  if (!pages.more.value && !loadError) return null;
  return (
    <div class="more">
      {loadError && <span role="alert">{loadError.message}</span>}
      {pages.more.value && (
        <button type="button" class="btn" disabled={pages.busy.value} onClick={pages.loadMore}>
          Show more
        </button>
      )}
    </div>
  );
}

/** The link of a row: `data-row` lets the keys j and k find it. */
export function RowLink({
  href,
  children,
  note,
}: {
  readonly href: string;
  readonly children: ComponentChildren;
  readonly note?: ComponentChildren;
}): JSX.Element {
  return (
    <span class="cell-2">
      <a class="row-link clip" href={href} data-row>
        {children}
      </a>
      {note !== undefined && <small class="clip">{note}</small>}
    </span>
  );
}
