/** Receivers on loopback: one that counts who comes, one that answers as told, and one that speaks raw bytes. */
import { createServer, type IncomingMessage, type RequestListener, type Server } from "node:http";
import { createServer as createSecureServer } from "node:https";
import {
  createServer as createRawServer,
  type AddressInfo,
  type Server as RawServer,
  type Socket,
} from "node:net";
import { onTestFinished } from "vitest";
import type { TestCertificate } from "./certificate.ts";

export interface Receiver {
  readonly port: number;
  /** How many connections were made so far. */
  readonly connections: () => number;
  /** How many connections are open. */
  readonly open: () => number;
}

export async function receiver(listener: RequestListener, certificate?: TestCertificate): Promise<Receiver> {
  return listening(certificate ? createSecureServer({ ...certificate }, listener) : createServer(listener));
}

export async function rawReceiver(onConnection: (socket: Socket) => void): Promise<Receiver> {
  return listening(
    createRawServer((socket) => {
      socket.on("error", () => undefined);
      onConnection(socket);
    }),
  );
}

/** Counts connections and answers 200 to everything: nobody should ever come. */
export function sink(): Promise<Receiver> {
  return receiver((_request, response) => response.end("reached"));
}

/** The whole body of a request. */
export async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

async function listening(server: Server | RawServer): Promise<Receiver> {
  const sockets = new Set<Socket>();
  let connections = 0;
  server.on("connection", (socket: Socket) => {
    connections++;
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  const { port } = server.address() as AddressInfo;
  return { port, connections: () => connections, open: () => sockets.size };
}
