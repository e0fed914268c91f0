/** Who is signed in, with which roles. A token in the fragment is used once and removed from the address bar. */
import { signal, type ReadonlySignal } from "@preact/signals";
import type { Part, Role, Session } from "../../../src/console/contract.ts";
import { toApiError, get, post, remove, type ApiError } from "./api.ts";

export type SessionState =
  | { readonly state: "loading" }
  | { readonly state: "out"; readonly failure: ApiError | undefined }
  | { readonly state: "in"; readonly session: Session };

const current = signal<SessionState>({ state: "loading" });
export const sessionState: ReadonlySignal<SessionState> = current;

export async function begin(): Promise<void> {
  const token = tokenOf(location.hash);
  if (token !== undefined) {
    history.replaceState(null, "", "#/");
    dispatchEvent(new HashChangeEvent("hashchange"));
    // An operator who is signed in already and opens an old link stays signed in.
    if (await signIn(token)) return;
  }
  const failure = current.value.state === "out" ? current.value.failure : undefined;
  try {
    current.value = { state: "in", session: await get<Session>("session") };
  } catch (error) {
    const caught = toApiError(error);
    current.value = { state: "out", failure: caught.status === 401 ? failure : caught };
  }
}

export async function signIn(token: string): Promise<boolean> {
  try {
    const session = await post<Session>("session", { token });
    current.value = { state: "in", session };
    return true;
  } catch (error) {
    current.value = { state: "out", failure: toApiError(error) };
    return false;
  }
}

export async function signOut(): Promise<void> {
  let failure: ApiError | undefined;
  try {
    await remove("session");
  } catch (error) {
    // The server clears the cookie in any case. If it does not answer at all, the session goes on until it expires.
    failure = toApiError(error);
  }
  current.value = { state: "out", failure };
}

export function tokenOf(hash: string): string | undefined {
  if (!hash.startsWith("#token=")) return undefined;
  const raw = hash.slice("#token=".length);
  try {
    return decodeURIComponent(raw);
  } catch {
    return raw;
  }
}

export function has(role: Role): boolean {
  const { value } = current;
  return value.state === "in" && value.session.roles.includes(role);
}

export function hasPart(part: Part): boolean {
  const { value } = current;
  return value.state === "in" && value.session.parts.includes(part);
}

export function sagaNames(): readonly string[] {
  const { value } = current;
  return value.state === "in" ? value.session.sagas : [];
}
