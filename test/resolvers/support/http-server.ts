/** A server on this machine whose every answer the test decides, and that remembers what it was sent. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface Received {
  readonly method: string;
  /** As it was sent: nothing decoded, nothing tidied up. */
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}

export interface Answer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** "hang" never answers, "reset" cuts the connection. */
export type Reaction = Answer | "hang" | "reset";

export interface HttpServer {
  readonly url: string;
  readonly received: readonly Received[];
  react(reaction: (received: Received) => Reaction): void;
  close(): Promise<void>;
}

export async function httpServer(first: (received: Received) => Reaction): Promise<HttpServer> {
  let reaction = first;
  const received: Received[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const one = {
        method: request.method ?? "",
        path: request.url ?? "",
        headers: request.headers,
        body: Buffer.concat(chunks).toString("utf8"),
      };
      received.push(one);
      carryOut(reaction(one), request, response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received,
    react: (next) => void (reaction = next),
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function carryOut(reaction: Reaction, request: IncomingMessage, response: ServerResponse): void {
  if (reaction === "hang") return;
  if (reaction === "reset") return void request.socket.destroy();
  response.writeHead(reaction.status, reaction.headers);
  response.end(reaction.body);
}

export function json(status: number, value: unknown, headers: Readonly<Record<string, string>> = {}): Answer {
  return { status, headers: { "content-type": "application/json", ...headers }, body: JSON.stringify(value) };
}
