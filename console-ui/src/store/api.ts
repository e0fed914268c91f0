/**
 * The only way to the server. A call ends in one of three ways that the pages tell apart: an answer, an error that the
 * server explains, or no usable answer (no server, or another program at its address).
 */
import { signal, type ReadonlySignal } from "@preact/signals";
import type { Problem } from "../../../src/console/contract.ts";

export type { Problem };

/** A failed call, with a message that can be shown. */
export class ApiError extends Error {
  readonly status: number;
  readonly code: string;
  readonly field: string | undefined;

  constructor(status: number, { code, message, field }: Problem) {
    super(message);
    this.status = status;
    this.code = code;
    this.field = field;
  }
}

const TIMEOUT_MS = 20_000;
const silentSince = signal<number | undefined>(undefined);
const signedOut = signal(false);

/** Since when the server has not answered; undefined while it answers. */
export const unreachableSince: ReadonlySignal<number | undefined> = silentSince;
/** The session has ended: the operator must sign in again. */
export const sessionLost: ReadonlySignal<boolean> = signedOut;

export function apiUrl(path: string): string {
  return new URL(`api/${path}`, document.baseURI.replace(/[?#].*$/u, "")).href;
}

/** What has not changed is the very same object as before: signals that hold it stay as they are. */
export function get<T>(path: string, abort?: AbortSignal): Promise<T> {
  return call<T>(path, { method: "GET" }, abort);
}

interface Answer {
  readonly etag: string;
  readonly value: unknown;
}

const ANSWERS_MAX = 40;
/** The last answers, by path: the server says with 304 that one still holds. */
const answers = new Map<string, Answer>();

function remember(path: string, answer: Answer): void {
  answers.delete(path);
  answers.set(path, answer);
  const oldest = answers.keys().next();
  if (answers.size > ANSWERS_MAX && !oldest.done) answers.delete(oldest.value);
}

export function post<T>(path: string, body: unknown): Promise<T> {
  return call<T>(path, { method: "POST", body: JSON.stringify(body) });
}

export function remove<T>(path: string): Promise<T> {
  return call<T>(path, { method: "DELETE" });
}

async function call<T>(path: string, init: RequestInit, abort?: AbortSignal): Promise<T> {
  const limit = AbortSignal.timeout(TIMEOUT_MS);
  const before = init.method === "GET" ? answers.get(path) : undefined;
  const response = await reach(path, {
    ...init,
    credentials: "same-origin",
    headers: {
      accept: "application/json",
      "x-amends-console": "1",
      ...(init.body ? { "content-type": "application/json" } : {}),
      ...(before ? { "if-none-match": before.etag } : {}),
    },
    signal: abort ? AbortSignal.any([abort, limit]) : limit,
  });
  if (response.status === 304 && before) return before.value as T;
  const text = await response.text();
  if (response.ok) {
    signedOut.value = false;
    const value = text === "" ? undefined : parse(text, response.status);
    const etag = response.headers.get("etag");
    if (init.method === "GET" && etag !== null) remember(path, { etag, value });
    return value as T;
  }
  if (response.status === 401) {
    signedOut.value = true;
    answers.clear();
  }
  throw new ApiError(response.status, problemOf(text, response.status));
}

async function reach(path: string, init: RequestInit): Promise<Response> {
  try {
    const response = await fetch(apiUrl(path), init);
    silentSince.value = undefined;
    return response;
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    silentSince.value ??= Date.now();
    throw new ApiError(0, {
      code: "UNREACHABLE",
      message: "The console cannot reach its server. It keeps trying.",
    });
  }
}

function parse(text: string, status: number): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new ApiError(status, {
      code: "NOT_JSON",
      message: "The answer is not from the console’s server. Is another program mounted at this address?",
    });
  }
}

function problemOf(text: string, status: number): Problem {
  try {
    const { code, message, field } = JSON.parse(text) as Partial<Problem>;
    if (typeof code === "string" && typeof message === "string") {
      return { code, message, ...(typeof field === "string" && { field }) };
    }
  } catch {
    // Reported below.
  }
  return { code: `HTTP_${status}`, message: `The server answered with status ${status}.` };
}

export function isAbort(error: unknown): boolean {
  return error instanceof DOMException && error.name === "AbortError";
}

export function toApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  return new ApiError(0, { code: "CONSOLE", message: "Something failed in this page. Reload it." });
}
