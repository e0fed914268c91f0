/** Each part of the system as one bar: how many of its items are in which state. */
import type { JSX } from "preact";
import type { Count, Overview, Part } from "../../../src/console/contract.ts";
import { hrefOf } from "../store/route.ts";
import { deliveryLooks, flowLooks, outboxLooks, sagaLooks, type Look } from "../store/states.ts";
import { formatCount } from "../store/format.ts";
import { Skeleton } from "./empty.tsx";

interface Meter {
  readonly part: Part;
  readonly word: string;
  readonly looks: Readonly<Record<string, Look>>;
  readonly of: (overview: Overview) => Readonly<Record<string, Count>> | null;
}

const meters: readonly Meter[] = [
  { part: "sagas", word: "Sagas", looks: sagaLooks, of: ({ sagas }) => sagas.byStatus },
  { part: "flows", word: "Event flows", looks: flowLooks, of: ({ flows }) => flows },
  { part: "outbox", word: "Outbox", looks: outboxLooks, of: ({ outbox }) => outbox },
  { part: "webhooks", word: "Webhook deliveries", looks: deliveryLooks, of: ({ deliveries }) => deliveries },
];

export function Meters({ overview }: { readonly overview: Overview | undefined }): JSX.Element {
  return (
    <section class="card" aria-label="Work by part">
      <div class="card-head">
        <h2>Work by state</h2>
      </div>
      <div class="card-body meters">
        {meters.map((meter) => {
          const counts = overview && meter.of(overview);
          if (counts === null) return null;
          return <MeterRow key={meter.part} meter={meter} counts={counts} />;
        })}
      </div>
    </section>
  );
}

interface RowProps {
  readonly meter: Meter;
  readonly counts: Readonly<Record<string, Count>> | undefined;
}

function MeterRow({ meter: { part, word, looks }, counts }: RowProps): JSX.Element {
  const rows = Object.entries(looks)
    .map(([status, look]) => ({ status, look, count: counts?.[status] }))
    .filter(({ count }) => count !== undefined && count.value > 0);
  const total = rows.reduce((sum, { count }) => sum + (count?.value ?? 0), 0);
  const exact = rows.every(({ count }) => count?.exact);
  return (
    <div>
      <div class="meter-head">
        <a href={hrefOf([part])}>{word}</a>
        <span class="num dim">
          {counts ? `${formatCount(total)}${exact ? "" : "+"}` : <Skeleton width="40px" />}
        </span>
      </div>
      <div class="meter-bar" aria-hidden="true">
        {rows.map(({ status, look, count }) => (
          <i key={status} data-tone={look.tone} style={{ flexGrow: String(count?.value ?? 0) }} />
        ))}
      </div>
      <div class="meter-words">
        {counts && rows.length === 0 && <span>{part === "outbox" ? "Nothing open" : "None yet"}</span>}
        {rows.map(({ status, look, count }) => (
          <a
            key={status}
            href={hrefOf([part], [["status", status]])}
            data-tone={look.tone}
            data-tip={look.meaning}
          >
            <span>
              <span class="chip-dot" />
              {`${look.word} `}
              <span class="num">{formatCount(count?.value ?? 0)}</span>
            </span>
          </a>
        ))}
      </div>
    </div>
  );
}
