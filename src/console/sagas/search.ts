/**
 * What was typed into the search box, as a filter. Words are tried as a state, as part of a name, then as the beginning of
 * an id; `field:value` looks into inputs. Without the right to reveal values the whole value must be typed: a search for
 * its beginning would let the operator guess it letter by letter.
 */
import { sagaMachine, type SagaStatus } from "../../core/saga/machine.ts";
import type { Fragment } from "../../sagas/read/list-queries.ts";

export interface Search {
  readonly statuses: readonly SagaStatus[] | undefined;
  readonly names: readonly string[] | undefined;
  readonly prefix: string | undefined;
  /** Each of these must be found in the input, in one of its forms. */
  readonly fields: readonly (readonly Fragment[])[];
}

const FIELD = /^([\w$.-]{1,64})[:=](.+)$/su;
const STATUS_MIN = 4;

export function readSearch(q: string, names: readonly string[], mayReveal: boolean): Search {
  const words = wordsOf(q);
  const statuses: SagaStatus[] = [];
  let found: readonly string[] | undefined;
  let prefix: string | undefined;
  const fields: (readonly Fragment[])[] = [];
  for (const word of words) {
    const field = FIELD.exec(word);
    const states =
      word.length >= STATUS_MIN ? sagaMachine.states.filter((state) => beginsLike(state, word)) : [];
    const named = names.filter((name) => plain(name).includes(plain(word)));
    if (states.length > 0) statuses.push(...states);
    else if (plain(word) !== "" && named.length > 0)
      found = (found ?? named).filter((name) => named.includes(name));
    else if (field) fields.push(fragmentsOf(field[1] as string, field[2] as string, mayReveal));
    else prefix = word;
  }
  return { statuses: statuses.length > 0 ? statuses : undefined, names: found, prefix, fields };
}

/** Words are set apart by spaces; in quotes a value may have some. */
function wordsOf(q: string): readonly string[] {
  const words = q.match(/(?:[^\s"]+|"[^"]*"?)+/g) ?? [];
  return words.slice(0, 10).map((word) => word.replaceAll('"', ""));
}

function beginsLike(state: string, word: string): boolean {
  return state.startsWith(word.toUpperCase());
}

/** Without what people leave out or mix up. */
export function plain(text: string): string {
  return text.toLowerCase().replaceAll(/[\s_.-]/g, "");
}

/** The field as it is in the stored text: JSON without spaces. Of a path, the last part. */
function fragmentsOf(path: string, value: string, mayReveal: boolean): readonly Fragment[] {
  const key = JSON.stringify(path.split(".").at(-1));
  if (mayReveal) {
    const begun = JSON.stringify(value).slice(0, -1);
    return [`${key}:${begun}`, `${key}:${value}`].map((text) => ({ text: text.toLowerCase(), folded: true }));
  }
  const whole = [`${key}:${JSON.stringify(value)}`];
  if (/^(?:-?\d[\d.eE+-]*|true|false|null)$/.test(value)) {
    whole.push(...[",", "}"].map((end) => `${key}:${value}${end}`));
  }
  return whole.map((text) => ({ text, folded: false }));
}

/** A word that is no id's beginning may be a whole value of some field. */
export function anyField(value: string): readonly Fragment[] {
  return [{ text: `:${JSON.stringify(value)}`, folded: false }];
}
