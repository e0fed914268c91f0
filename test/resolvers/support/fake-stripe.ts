/** As much of Stripe's customers as the resolver uses, over real HTTP: errors, deleted notes and idempotency included. */
import type { ResolverFault } from "amends/testing";
import { Stripe } from "stripe";
import {
  httpServer,
  json,
  type Answer,
  type HttpServer,
  type Reaction,
  type Received,
} from "./http-server.ts";

export const GOOD_KEY = "sk_test_good";

type Params = Record<string, string>;
type Customer = Record<string, unknown> & { deleted?: true; address?: Record<string, string> };

export interface FakeStripe {
  readonly customers: Map<string, Customer>;
  readonly received: HttpServer["received"];
  readonly url: string;
  /** The next requests get this answer, before Stripe looks at them; `isKept` keeps it for the idempotency key. */
  answerNext(answer: Answer, options?: { times?: number; isKept?: boolean }): void;
  fault(fault: ResolverFault | undefined): void;
  client(key?: string): Stripe;
  close(): Promise<void>;
}

export function stripeError(status: number, error: Record<string, string>, headers?: Params): Answer {
  return json(status, { error }, headers);
}

export async function fakeStripe(): Promise<FakeStripe> {
  const customers = new Map<string, Customer>();
  const kept = new Map<string, { body: string; answer: Answer }>();
  const next: { answer: Answer; isKept: boolean }[] = [];
  let fault: ResolverFault | undefined;

  const react = (received: Received): Reaction => {
    if (fault === "hangs") return "hang";
    if (fault === "down") return stripeError(503, { type: "api_error", message: "down" });
    if (fault === "refuses")
      return stripeError(403, { type: "invalid_request_error", message: "no permission" });
    if (received.headers.authorization !== `Bearer ${GOOD_KEY}`) {
      return stripeError(401, { type: "invalid_request_error", message: "Invalid API Key provided" });
    }
    return received.method === "POST" ? once(received) : answer(received);
  };

  /** Only POST takes keys. The same key and parameters get the same answer, even a failure. */
  const once = (received: Received): Answer => {
    const key = String(received.headers["idempotency-key"]);
    const before = kept.get(key);
    if (before && before.body !== received.body) {
      return stripeError(400, { type: "idempotency_error", message: "Keys for idempotent requests …" });
    }
    if (before)
      return { ...before.answer, headers: { ...before.answer.headers, "idempotent-replayed": "true" } };
    const isKept = next[0]?.isKept ?? true;
    const made = answer(received);
    if (isKept) kept.set(key, { body: received.body, answer: made });
    return made;
  };

  const answer = ({ method, path, body }: Received): Answer => {
    const scripted = next.shift();
    if (scripted) return scripted.answer;
    const id = decodeURIComponent(/^\/v1\/customers\/([^/?]+)/.exec(path)?.[1] ?? "");
    if (!id) return stripeError(404, { type: "invalid_request_error", message: "Unrecognized request URL" });
    const found = customers.get(id);
    const missing = stripeError(404, {
      type: "invalid_request_error",
      code: "resource_missing",
      param: "id",
      message: `No such customer: '${id}'`,
    });
    if (!found || (found.deleted && method !== "GET")) return missing;
    if (method === "DELETE") customers.set(id, { id, object: "customer", deleted: true });
    if (method === "POST") customers.set(id, { ...found, ...changed(found, new URLSearchParams(body)) });
    return json(200, customers.get(id));
  };

  const server = await httpServer(react);
  return {
    customers,
    received: server.received,
    url: server.url,
    answerNext(scripted, { times = 1, isKept = false } = {}) {
      for (let count = 0; count < times; count++) next.push({ answer: scripted, isKept });
    },
    fault: (value) => void (fault = value),
    client: (key = GOOD_KEY) =>
      new Stripe(key, {
        host: "127.0.0.1",
        port: new URL(server.url).port,
        protocol: "http",
        telemetry: false,
      }),
    close: () => server.close(),
  };
}

/** An address is replaced as a whole. */
function changed(found: Customer, params: URLSearchParams): Customer {
  const change: Customer = {};
  for (const [name, value] of params) {
    const part = /^address\[(\w+)\]$/.exec(name)?.[1];
    if (part) change.address = { ...change.address, [part]: value };
    else change[name] = value;
  }
  return { ...found, ...change };
}
