/** Receivers of all kinds, on this machine: those that one hopes for, and those that one gets. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { verifyWebhook, WebhookVerificationError } from "amends/webhooks/receive";

export interface Receivers {
  /** Where a receiver of this kind listens. */
  url(kind: string): string;
  /** The secret that came with the subscription: the healthy one verifies with it. */
  secret: string;
  /** What the healthy one took. */
  readonly taken: string[];
  /** How often each kind was called. */
  readonly calls: Map<string, number>;
  close(): void;
}

export async function openReceivers(): Promise<Receivers> {
  const calls = new Map<string, number>();
  const taken: string[] = [];
  const receivers = { secret: "", taken, calls } as Receivers;
  const server = createServer((request, response) => {
    const kind = (request.url ?? "").slice(1);
    calls.set(kind, (calls.get(kind) ?? 0) + 1);
    void bodyOf(request).then((body) => answer(kind, request, body, response, receivers));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  receivers.url = (kind) => `http://127.0.0.1:${(server.address() as AddressInfo).port}/${kind}`;
  receivers.close = () => closeAll(server);
  return receivers;
}

async function answer(
  kind: string,
  request: IncomingMessage,
  body: Buffer,
  response: ServerResponse,
  { calls, taken, secret }: Receivers,
): Promise<void> {
  switch (kind) {
    case "healthy":
      try {
        const { id } = await verifyWebhook(request.headers, body, secret);
        taken.push(id);
        return void response.writeHead(204).end();
      } catch (error) {
        if (!(error instanceof WebhookVerificationError)) throw error;
        return void response.writeHead(401).end();
      }
    case "failing": // at first
      return void response.writeHead((calls.get(kind) ?? 0) < 3 ? 500 : 200).end();
    case "gone":
      return void response.writeHead(410).end();
    case "redirecting":
      return void response.writeHead(302, { location: "http://169.254.169.254/latest/meta-data" }).end();
    case "endless": {
      response.writeHead(500);
      const pour = (): void => {
        while (!response.destroyed && response.write("x".repeat(16_384)));
      };
      response.on("drain", pour);
      return pour();
    }
    default: // "slow": never says anything
  }
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

function closeAll(server: Server): void {
  server.closeAllConnections();
  server.close();
}
