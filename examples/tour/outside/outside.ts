/**
 * The world outside, on one real HTTP server of this machine: a warehouse, a payment service, a carrier and a mailer;
 * the systems that know customers; the partners that get webhooks. It lives in the tour's own process, so that it
 * remembers what a killed worker has asked it for. Some of it can be down, and comes back.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { CustomerSystems } from "./customer-systems.ts";
import { OrderServices } from "./order-services.ts";
import { Partners } from "./partners.ts";

/** What can be down: each is half of a service that a scene needs, so that the rest of the town goes on. */
export type Outage = "refunds" | "newsletter" | "warehouse-east";

export interface Arrived {
  readonly method: string;
  /** What follows the name of the service in the address. */
  readonly path: readonly string[];
  readonly headers: IncomingMessage["headers"];
  readonly body: Buffer;
}

export interface Reply {
  readonly status: number;
  readonly body?: object;
}

export type Service = (arrived: Arrived) => Reply | undefined | Promise<Reply | undefined>;

export const DOWN: Reply = { status: 503, body: { error: "down for the moment" } };

/** Long enough to be seen, short enough not to be waited for. */
const TRAVEL_MS = 60;

export class Outside {
  readonly down: Set<Outage> = new Set();
  readonly orders: OrderServices = new OrderServices(this.down);
  readonly customers: CustomerSystems = new CustomerSystems(this.down);
  readonly partners: Partners = new Partners(this.down);
  readonly #server = createServer((request, response) => void this.#respond(request, response));

  async open(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  async #respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const body = await bodyOf(request);
      await pause(TRAVEL_MS);
      const [, name = "", ...path] = (request.url ?? "").split("/").map(decodeURIComponent);
      const service = this.orders.find(name) ?? this.customers.find(name) ?? this.partners.find(name);
      const arrived = { method: request.method ?? "", path, headers: request.headers, body };
      const reply = service ? await service(arrived) : { status: 404 };
      if (!reply) return; // whoever asked never hears of it
      response.writeHead(reply.status, { "content-type": "application/json" });
      response.end(reply.body && JSON.stringify(reply.body));
    } catch {
      response.destroy();
    }
  }
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}
