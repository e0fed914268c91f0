/** The payment service that the examples call: it declines large amounts, and can keep its callers waiting. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface PaymentService {
  readonly url: string;
  /** How often each idempotency key was sent. */
  readonly calls: ReadonlyMap<string, number>;
  /** Until the returned function is called, charges get no answer. */
  hold(): () => void;
  [Symbol.asyncDispose](): Promise<void>;
}

export async function openPayments(): Promise<PaymentService> {
  const calls = new Map<string, number>();
  let gate: Promise<void> = Promise.resolve();
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const key = String(request.headers["idempotency-key"]);
    calls.set(key, (calls.get(key) ?? 0) + 1);
    let text = "";
    for await (const chunk of request) text += String(chunk);
    const { cents } = JSON.parse(text) as { cents: number };
    await gate;
    response.writeHead(cents > 10_000 ? 402 : 200).end();
  };
  const server = createServer((request, response) => void answer(request, response)).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls,
    hold: () => {
      let open = (): void => undefined;
      gate = new Promise((resolve) => (open = resolve));
      return open;
    },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
