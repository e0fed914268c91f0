/** What the calls of a saga have reported of their progress. Numbers are shown, texts are masked until they are revealed. */
import type { JSX } from "preact";
import type { ProgressLine } from "../../../src/console/contract-parts.ts";
import type { SagaDetail, Shape } from "../../../src/console/contract.ts";
import { ProgressBar } from "./progress-bar.tsx";
import { SecretView } from "./secret-view.tsx";
import { Time } from "./time.tsx";

export function CallProgress({ saga }: { readonly saga: SagaDetail }): JSX.Element | null {
  if (saga.progress.length === 0) return null;
  const secret = { kind: "saga", id: saga.id } as const;
  return (
    <section class="card" aria-label="Progress">
      <div class="card-head">
        <h2>Progress</h2>
      </div>
      <div class="card-body values">
        {saga.progress.map((line) => (
          <div key={`${line.action} ${line.step}`}>
            <h3>
              {line.action === "compensate" && "Undo of "}
              <code>{line.step}</code>
              <span class="dim">
                <Time at={line.at} focusable />
              </span>
            </h3>
            <Bar line={line} />
            <SecretView
              secret={secret}
              masked={line.value}
              path={["progress", `${line.action} ${line.step}`]}
            />
          </div>
        ))}
      </div>
    </section>
  );
}

/** A value with the numbers `done` and `total` is a share of a known whole. */
function Bar({ line: { step, value } }: { readonly line: ProgressLine }): JSX.Element | null {
  const { shape } = value;
  if (typeof shape !== "object" || Array.isArray(shape)) return null;
  const { done, total } = shape as Readonly<Record<string, Shape>>;
  if (typeof done !== "number" || typeof total !== "number" || total <= 0) return null;
  return <ProgressBar done={done} total={total} label={`Progress of ${step}`} />;
}
