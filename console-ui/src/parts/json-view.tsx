/**
 * A stored value. Masked, only its shape is shown; revealed, it is shown as text and never as markup. Deep or long values
 * are cut until the reader asks for more, so that a huge payload cannot make the page slow.
 */
import type { ComponentChildren, JSX } from "preact";
import { useState } from "preact/hooks";
import type { Json, Shape } from "../../../src/console/contract.ts";

const ITEMS_MAX = 40;
const TEXT_MAX = 400;
const OPEN_DEPTH = 3;

export function JsonView({ value }: { readonly value: Json }): JSX.Element {
  return (
    <div class="json">
      <Value value={value} depth={0} />
    </div>
  );
}

export function ShapeView({ shape }: { readonly shape: Shape }): JSX.Element {
  return (
    <div class="json">
      <ShapeValue shape={shape} depth={0} />
    </div>
  );
}

function Value({ value, depth }: { readonly value: Json; readonly depth: number }): JSX.Element {
  if (Array.isArray(value)) {
    const items = value as readonly Json[];
    return (
      <Nest open="[" close="]" count={items.length} depth={depth}>
        {(shown) =>
          items.slice(0, shown).map((item, index) => (
            <li key={index}>
              <Value value={item} depth={depth + 1} />
            </li>
          ))
        }
      </Nest>
    );
  }
  if (typeof value === "object" && value !== null) {
    const fields = Object.entries(value as Readonly<Record<string, Json>>);
    return (
      <Nest open="{" close="}" count={fields.length} depth={depth}>
        {(shown) =>
          fields.slice(0, shown).map(([name, item]) => (
            <li key={name}>
              <span class="json-key">{name}</span>
              <Value value={item} depth={depth + 1} />
            </li>
          ))
        }
      </Nest>
    );
  }
  if (typeof value === "string") return <Text text={value} />;
  return <span class={`json-${value === null ? "null" : typeof value}`}>{String(value)}</span>;
}

function Text({ text }: { readonly text: string }): JSX.Element {
  const [whole, setWhole] = useState(false);
  const cut = !whole && text.length > TEXT_MAX;
  return (
    <span class="json-text">
      {JSON.stringify(cut ? text.slice(0, TEXT_MAX) : text)}
      {cut && (
        <button type="button" class="json-more" onClick={() => setWhole(true)}>
          all {text.length.toLocaleString("en")} characters
        </button>
      )}
    </span>
  );
}

interface NestProps {
  readonly open: string;
  readonly close: string;
  readonly count: number;
  readonly depth: number;
  readonly children: (shown: number) => ComponentChildren;
}

function Nest({ open, close, count, depth, children }: NestProps): JSX.Element {
  const [unfolded, setUnfolded] = useState(depth < OPEN_DEPTH);
  const [shown, setShown] = useState(ITEMS_MAX);
  if (count === 0) return <span class="json-mark">{`${open}${close}`}</span>;
  if (!unfolded) {
    return (
      <button type="button" class="json-more" aria-expanded={false} onClick={() => setUnfolded(true)}>
        {`${open} ${count} ${close}`}
      </button>
    );
  }
  return (
    <>
      <span class="json-mark">{open}</span>
      <ul class="json-nest">{children(shown)}</ul>
      {count > shown && (
        <button type="button" class="json-more" onClick={() => setShown(shown + 10 * ITEMS_MAX)}>
          {`${(count - shown).toLocaleString("en")} more`}
        </button>
      )}
      <span class="json-mark">{close}</span>
    </>
  );
}

function ShapeValue({ shape, depth }: { readonly shape: Shape; readonly depth: number }): JSX.Element {
  if (typeof shape === "number" || typeof shape === "boolean") return <Value value={shape} depth={depth} />;
  if (typeof shape === "string") {
    if (shape === "null") return <span class="json-null">null</span>;
    return (
      <span class="json-masked">
        <span aria-hidden="true">••••••</span> {shape === "…" ? "hidden" : shape}
      </span>
    );
  }
  if (Array.isArray(shape)) {
    const items = shape as readonly Shape[];
    return (
      <Nest open="[" close="]" count={items.length} depth={depth}>
        {(shown) =>
          items.slice(0, shown).map((item, index) => (
            <li key={index}>
              <ShapeValue shape={item} depth={depth + 1} />
            </li>
          ))
        }
      </Nest>
    );
  }
  const fields = Object.entries(shape as Readonly<Record<string, Shape>>);
  return (
    <Nest open="{" close="}" count={fields.length} depth={depth}>
      {(shown) =>
        fields.slice(0, shown).map(([name, item]) => (
          <li key={name}>
            <span class="json-key">{name}</span>
            <ShapeValue shape={item} depth={depth + 1} />
          </li>
        ))
      }
    </Nest>
  );
}
