/**
 * The systems around the shop, on one real HTTP server: a Stripe with customers, a newsletter service that may be down,
 * and a log system that cannot erase, only let its lines expire after thirty days.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

const DAY_MS = 86_400_000;

export interface Outside {
  readonly port: number;
  readonly url: string;
  readonly customers: Map<string, Record<string, string>>;
  readonly subscribers: Map<string, Record<string, string>>;
  isNewsletterDown: boolean;
  close(): Promise<void>;
}

interface Answer {
  readonly status: number;
  readonly body: object;
}

export async function openOutside(nowMs: () => number): Promise<Outside> {
  const customers = new Map([
    ["cus_ann", { name: "Ann Archer", email: "ann@example.org" }],
    ["cus_ben", { name: "Ben Baker", email: "ben@exmaple.org" }],
  ]);
  const subscribers = new Map([
    ["n-ann", { email: "ann@example.org" }],
    ["n-ben", { email: "ben@exmaple.org" }],
  ]);
  const loggedAtMs = nowMs();

  const stripe = (method: string, id: string, body: string): Answer => {
    const found = customers.get(id);
    if (!found)
      return { status: 404, body: { error: { type: "invalid_request_error", code: "resource_missing" } } };
    if (method === "DELETE") customers.delete(id);
    if (method === "POST") customers.set(id, { ...found, ...Object.fromEntries(new URLSearchParams(body)) });
    return { status: 200, body: { id, ...customers.get(id), ...(method === "DELETE" && { deleted: true }) } };
  };

  const newsletter = (method: string, id: string, body: string): Answer => {
    if (outside.isNewsletterDown) return { status: 503, body: {} };
    const found = subscribers.get(id);
    if (!found) return { status: 404, body: {} };
    if (method === "DELETE") subscribers.delete(id);
    if (method === "PATCH") subscribers.set(id, { ...found, ...(JSON.parse(body) as object) });
    return { status: 200, body: {} };
  };

  const logs = (): Answer => {
    const expiresAtMs = loggedAtMs + 30 * DAY_MS;
    if (nowMs() >= expiresAtMs) return { status: 404, body: {} };
    return { status: 200, body: { expires_at: new Date(expiresAtMs).toISOString() } };
  };

  const answer = async (request: IncomingMessage): Promise<Answer> => {
    const body = await readBody(request);
    const [, first = "", second = "", third = ""] = (request.url ?? "").split("/");
    const { method = "" } = request;
    if (first === "v1") return stripe(method, decodeURIComponent(third), body);
    return first === "logs" ? logs() : newsletter(method, decodeURIComponent(second), body);
  };

  const respond = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { status, body } = await answer(request);
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
  };

  const server = createServer((request, response) => void respond(request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const outside: Outside = {
    port,
    url: `http://127.0.0.1:${port}`,
    customers,
    subscribers,
    isNewsletterDown: true,
    close: () => new Promise((resolve) => void server.close(() => resolve())),
  };
  return outside;
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString("utf8");
}
