/** One list of whatever needs a person, oldest first, with what each item needs and the actions that it allows. */
import type { JSX } from "preact";
import type { AttentionLine } from "../../../src/console/contract.ts";
import { ActionButtons } from "../parts/action-buttons.tsx";
import { Empty, Failed, Skeleton } from "../parts/empty.tsx";
import { Icon } from "../parts/icon.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { Time } from "../parts/time.tsx";
import { specOf, type Target } from "../store/actions.ts";
import { kindOf } from "../store/attention-kinds.ts";
import { usePages } from "../store/pages.ts";
import { place, refine } from "../store/route.ts";

const idOf = ({ kind, id }: AttentionLine): string => `${kind} ${id}`;

export function AttentionPage(): JSX.Element {
  const pages = usePages<AttentionLine>("attention?limit=50", { topics: ["attention"], idOf, whole: true });
  const all = pages.items.value;
  const failure = pages.trouble.value;
  const chosen = place.value.query.get("kind") ?? "";
  const kinds = [...new Set(all?.map(({ kind }) => kind))];
  const items = all?.filter(({ kind }) => chosen === "" || kind === chosen);
  return (
    <div class="page">
      <PageHead title="Attention">
        <p>
          Whatever cannot finish by itself, oldest first. Each says what it needs; each action asks for a
          reason and is audited.
        </p>
      </PageHead>
      {kinds.length > 1 && (
        <div class="chips" role="group" aria-label="Kind">
          <button
            type="button"
            class="chip"
            aria-pressed={chosen === ""}
            onClick={() => refine({ kind: undefined })}
          >
            All
          </button>
          {kinds.map((kind) => (
            <button
              key={kind}
              type="button"
              class="chip"
              aria-pressed={chosen === kind}
              onClick={() => refine({ kind: chosen === kind ? undefined : kind })}
            >
              <Icon name={kindOf(kind).icon} size={13} />
              {kindOf(kind).word}
            </button>
          ))}
        </div>
      )}
      {all === undefined && failure && (
        <div class="card">
          <Failed trouble={failure} retry={pages.reload} />
        </div>
      )}
      {all === undefined && !failure && <Skeletons />}
      {items?.length === 0 && (
        <div class="card">
          <Empty icon="check" title="Nothing needs you">
            <p>
              Stalled sagas and flows, abandoned entries, dead letters, abandoned events, disabled
              subscriptions and overdue erasures gather here. Everything else finishes, or makes amends, by
              itself.
            </p>
          </Empty>
        </div>
      )}
      <ul class="cases">
        {items?.map((item) => (
          <Case key={idOf(item)} item={item} />
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

function Case({ item }: { readonly item: AttentionLine }): JSX.Element {
  const { word, icon, needs, target, href } = kindOf(item.kind);
  const aim: Target | undefined = target && {
    kind: target,
    id: item.id,
    name: item.name,
    skippable: item.skippable,
  };
  const known = aim ? item.actions.filter((action) => specOf(aim.kind, action)) : [];
  return (
    <li class="card case" data-kind={item.kind}>
      <span class="need-icon" data-tone="rose">
        <Icon name={icon} />
      </span>
      <div class="case-words">
        <div class="case-title">
          <a class="row-link" href={href(item.id)} data-row>
            {item.name}
          </a>
          <span class="tag" data-tone="rose">
            {word}
          </span>
        </div>
        <p class="sentence">{item.reason}</p>
        <p class="dim">{needs}</p>
        <p class="case-id dim">
          <code class="clip">{item.id}</code>
        </p>
      </div>
      <div class="case-side">
        <Time at={item.since} class="dim" />
        <div class="row-actions">
          {aim && <ActionButtons target={aim} actions={known} small />}
          {known.length === 0 && (
            <a class="btn above" data-size="s" href={href(item.id)}>
              Open it
            </a>
          )}
        </div>
      </div>
    </li>
  );
}

function Skeletons(): JSX.Element {
  return (
    <div class="cases" aria-busy="true">
      {[0, 1, 2, 3].map((index) => (
        <div key={index} class="card case">
          <span />
          <Skeleton width="50%" />
        </div>
      ))}
    </div>
  );
}
