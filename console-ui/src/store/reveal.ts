/**
 * Revealed values. They live as long as the page that shows them: leaving it forgets them, and the next reveal needs a
 * reason and is audited again.
 */
import { signal, type ReadonlySignal } from "@preact/signals";
import type { Json, RevealRequest, Revealed } from "../../../src/console/contract.ts";
import { post } from "./api.ts";
import { invalidateNow } from "./live.ts";

export type RevealKind = RevealRequest["kind"];
export interface Secret {
  readonly kind: RevealKind;
  readonly id: string;
}

const known = signal<ReadonlyMap<string, Revealed["fields"]>>(new Map());
const wanted = signal<Secret | undefined>(undefined);
export const requestedReveal: ReadonlySignal<Secret | undefined> = wanted;

const keyOf = ({ kind, id }: Secret): string => `${kind} ${id}`;

export function revealedOf(secret: Secret): Readonly<Record<string, Json>> | undefined {
  return known.value.get(keyOf(secret));
}

export function requestReveal(secret: Secret | undefined): void {
  wanted.value = secret;
}

export async function reveal(secret: Secret, reason: string): Promise<void> {
  const { fields } = await post<Revealed>("reveal", { ...secret, reason });
  known.value = new Map(known.value).set(keyOf(secret), fields);
  wanted.value = undefined;
  invalidateNow("audit");
}

export function hide(secret: Secret): void {
  const rest = new Map(known.value);
  rest.delete(keyOf(secret));
  known.value = rest;
}

addEventListener("hashchange", () => (known.value = new Map()));
