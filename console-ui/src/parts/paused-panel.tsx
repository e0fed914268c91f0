/** What an operator has paused, with the way to resume it. The card is there only while something is paused. */
import type { JSX } from "preact";
import type { PausedLine } from "../../../src/console/contract-parts.ts";
import type { Page } from "../../../src/console/contract.ts";
import { useResource } from "../store/resource.ts";
import { hrefOf } from "../store/route.ts";
import { ActionButtons } from "./action-buttons.tsx";
import { Icon } from "./icon.tsx";
import { Time } from "./time.tsx";

interface Props {
  /** Sagas and their names, or the names of calls. */
  readonly of: "sagas" | "calls";
}

/** Sagas change all the time, and what is paused hardly ever. An action of this page is seen at once. */
const PACE_MS = 15_000;

export function usePaused({ of }: Props): readonly PausedLine[] {
  const topic = of === "sagas" ? "sagas" : "outbox";
  const { data } = useResource<Page<PausedLine>>("paused?limit=100", [topic], PACE_MS);
  return (data.value?.items ?? []).filter(({ kind }) => (kind === "call") === (of === "calls"));
}

export function PausedPanel({ of }: Props): JSX.Element | null {
  const items = usePaused({ of });
  if (items.length === 0) return null;
  return (
    <section class="callout" data-tone="copper" aria-label="Paused">
      <Icon name="pause" />
      <div>
        <strong>Paused: no worker takes it until it is resumed</strong>
        <ul>
          {items.map((item) => (
            <PausedItem key={`${item.kind} ${item.id ?? item.name}`} item={item} />
          ))}
        </ul>
      </div>
    </section>
  );
}

function PausedItem({ item }: { readonly item: PausedLine }): JSX.Element {
  const { kind, id, name, reason, by, since } = item;
  const target =
    id === null
      ? ({ kind: kind === "saga" ? "sagas" : "calls", id: name, name } as const)
      : ({ kind: "saga", id, name } as const);
  return (
    <li>
      {id === null ? (
        <>
          All {kind === "saga" ? "sagas" : "calls"} <strong>{name}</strong>
        </>
      ) : (
        <a href={hrefOf(["sagas", id])}>
          {name} {id}
        </a>
      )}{" "}
      <span class="dim">
        {by ?? "unknown"}, <Time at={since} />: {reason}
      </span>{" "}
      <ActionButtons target={target} actions={["resume"]} small quiet />
    </li>
  );
}

/** Pauses all sagas, or calls, of a name. Nothing while they are paused. */
export function PauseName({ of, name }: Props & { readonly name: string | undefined }): JSX.Element | null {
  const paused = usePaused({ of });
  if (name === undefined || paused.some((one) => one.id === null && one.name === name)) return null;
  return <ActionButtons target={{ kind: of, id: name, name }} actions={["pause"]} quiet />;
}
