/**
 * The one table of routes: routing, role checks, the OpenAPI document and the tests that go over every route are made
 * from it. Each route names the role that it needs.
 */
import type { Role } from "../contract.ts";
import type { Operator } from "../session/operator.ts";
import type { SignedIn } from "../session/sessions.ts";
import type { Params, Values } from "./param.ts";

/** `open` needs no session: health, readiness and signing in. */
export type Access = Role | "open";

export interface Call<Query, Body> {
  /** The value of `{id}`. */
  readonly id: string;
  readonly query: Query;
  readonly body: Body;
  /** Undefined on open routes, unless an operator is signed in. */
  readonly who: Operator | undefined;
  /** The session of a browser; undefined for programs and for the application's own sign-in. */
  readonly session: SignedIn | undefined;
  readonly request: Request;
}

interface Shape<Q extends Params, B extends Params> {
  readonly method: "GET" | "POST" | "DELETE";
  /** Below the mount, such as `/api/sagas/{id}`. */
  readonly path: string;
  readonly access: Access;
  /** For the OpenAPI document. */
  readonly summary: string;
  /** The type in the contract, or a content type where the answer is no JSON. */
  readonly answers: string;
  readonly query?: Q;
  readonly body?: B;
  /** A whole answer, or a value to be sent as JSON. */
  handle(call: Call<Values<Q>, Values<B>>): Promise<unknown>;
}

export type Route = Shape<Params, Params>;

/** Keeps what each parameter is for the handler, and forgets it for the table. */
export function route<const Q extends Params = Params, const B extends Params = Params>(
  shape: Shape<Q, B>,
): Route {
  return shape;
}

export interface Found {
  readonly route: Route;
  readonly id: string;
}

/** The route of a request; the methods that there are where the path is known and the method is not. */
export function find(routes: readonly Route[], method: string, path: string): Found | readonly string[] {
  const segments = path.split("/");
  const others: string[] = [];
  for (const candidate of routes) {
    const id = match(candidate.path.split("/"), segments);
    if (id === undefined) continue;
    if (candidate.method === method) return { route: candidate, id };
    others.push(candidate.method);
  }
  return others;
}

function match(pattern: readonly string[], segments: readonly string[]): string | undefined {
  if (pattern.length !== segments.length) return undefined;
  let id = "";
  for (const [index, part] of pattern.entries()) {
    const segment = segments[index] as string;
    if (part !== "{id}") {
      if (part !== segment) return undefined;
      continue;
    }
    const decoded = decode(segment);
    if (decoded === undefined || decoded === "") return undefined;
    id = decoded;
  }
  return id;
}

function decode(segment: string): string | undefined {
  try {
    const text = decodeURIComponent(segment);
    // No database keeps it, so that nothing has such an id.
    return text.includes("\0") ? undefined : text;
  } catch {
    return undefined;
  }
}
