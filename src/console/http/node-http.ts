/** Adapts node:http to fetch, and has a small HTTP server. */
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { ReadableStream as WebStream } from "node:stream/web";
import { setTimeout as sleep } from "node:timers/promises";
import { BYTES_MAX } from "../../core/json.ts";
import { badInput, problemAnswer } from "./answer.ts";
import type { Arrival, Console } from "../console.ts";

/** What Express adds to a request. */
interface Mounted extends IncomingMessage {
  readonly baseUrl?: string;
  readonly originalUrl?: string;
  /** Where a body parser was there first: the stream is used up. */
  readonly body?: unknown;
}

/** The number of bytes of an unread body that are read, so that the connection can be reused. */
const REST_MAX_BYTES = 4 * BYTES_MAX;
const REST_MAX_MS = 2_000;

type Answer = (request: Request, arrival: Arrival) => Promise<Response>;

export function nodeListener(answer: Answer): RequestListener {
  return (incoming, outgoing) => {
    void pass(answer, incoming, outgoing);
  };
}

async function pass(answer: Answer, incoming: Mounted, outgoing: ServerResponse): Promise<void> {
  const gone = new AbortController();
  outgoing.once("close", () => gone.abort());
  try {
    const caller = incoming.socket.remoteAddress;
    const { baseUrl } = incoming;
    const redirect = slashMissing(incoming);
    const arrival = {
      accepts: incoming.headers["accept-encoding"]?.toString(),
      ...(caller !== undefined && { caller }),
      ...(baseUrl && { mount: baseUrl }),
      ...(redirect !== undefined && { redirect }),
    };
    const response = await answer(toRequest(incoming, gone.signal), arrival);
    if (!(await isReadOut(incoming))) outgoing.setHeader("connection", "close");
    await send(response, outgoing);
  } catch {
    // The client is gone, or it sent no valid request.
    if (outgoing.headersSent) return void outgoing.destroy();
    await send(problemAnswer(badInput("The request", "cannot be read")), outgoing);
  }
}

/** Express hides the slash that is missing at the end of a mount. */
function slashMissing({ baseUrl, originalUrl = "" }: Mounted): string | undefined {
  const [path = "", ...search] = originalUrl.split("?");
  return baseUrl && path === baseUrl ? [`${path}/`, ...search].join("?") : undefined;
}

function toRequest(incoming: Mounted, signal: AbortSignal): Request {
  const headers = new Headers();
  for (const [name, value] of Object.entries(incoming.headers)) {
    for (const one of Array.isArray(value) ? value : [value ?? ""]) headers.append(name, one);
  }
  const isSecure = (incoming.socket as { encrypted?: boolean }).encrypted === true;
  // The Host is judged by its header: in the address stands one that can always be read.
  const url = `${isSecure ? "https" : "http"}://localhost${incoming.url ?? "/"}`;
  const method = incoming.method ?? "GET";
  const bodiless = method === "GET" || method === "HEAD";
  const init = { method, headers, signal };
  if (bodiless) return new Request(url, init);
  if (incoming.readableEnded) return new Request(url, { ...init, body: JSON.stringify(incoming.body ?? {}) });
  const body = WebStream.from(chunksOf(incoming));
  return new Request(url, { ...init, body, duplex: "half" });
}

/** Stopping to read must not close the connection: the response still has to be sent on it. */
function chunksOf(incoming: IncomingMessage): AsyncIterableIterator<Uint8Array> {
  return incoming.iterator({ destroyOnReturn: false }) as AsyncIterableIterator<Uint8Array>;
}

/**
 * What is left of a body stands before the next request on the same connection. It is read and forgotten, within
 * limits; false where there is more, and the connection must end.
 */
async function isReadOut(incoming: IncomingMessage): Promise<boolean> {
  if (incoming.readableEnded) return true;
  const timer = new AbortController();
  const late = sleep(REST_MAX_MS, false, { signal: timer.signal, ref: false }).catch(() => false);
  try {
    return await Promise.race([skip(chunksOf(incoming)), late]);
  } finally {
    timer.abort();
  }
}

async function skip(chunks: AsyncIterable<Uint8Array>): Promise<boolean> {
  let bytes = 0;
  try {
    for await (const chunk of chunks) if ((bytes += chunk.byteLength) > REST_MAX_BYTES) return false;
    return true;
  } catch {
    return false; // the client is gone
  }
}

async function send(response: Response, outgoing: ServerResponse): Promise<void> {
  const headers: Record<string, string | string[]> = Object.fromEntries(response.headers);
  const cookies = response.headers.getSetCookie();
  if (cookies.length > 0) headers["set-cookie"] = cookies;
  outgoing.writeHead(response.status, headers);
  if (!response.body) return void outgoing.end();
  outgoing.flushHeaders();
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  outgoing.once("close", () => void reader.cancel().catch(() => undefined));
  for (;;) {
    const { done, value } = await reader.read();
    if (done || outgoing.destroyed) break;
    if (!outgoing.write(value)) await writable(outgoing);
  }
  outgoing.end();
}

/** Waits until the socket drains or closes. */
function writable(outgoing: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      outgoing.off("drain", done);
      outgoing.off("close", done);
      resolve();
    };
    outgoing.once("drain", done);
    outgoing.once("close", done);
  });
}

/** How long a client may take to send a request. The server looks twice a second, and answers 408. */
export interface SendLimits {
  readonly headersMs: number;
  readonly requestMs: number;
}

const LIMITS: SendLimits = { headersMs: 5_000, requestMs: 10_000 };
const LOOK_MS = 500;

/** The port of every console that is not given another one. */
export const CONSOLE_PORT = 7_007;

/** Where a console listens. */
export interface ListenOptions {
  /** The port; 0 takes a free one. Default: 7007. */
  readonly port?: number;
  /** The address to listen on. Default: 127.0.0.1, which only this machine reaches. */
  readonly host?: string;
}

/** A console that listens on its own port. */
export interface ConsoleServer {
  /** The address of the console. */
  readonly url: string;
  /** The address with a one-time token that signs in with all roles. */
  readonly signInUrl: string;
  /** Ends live updates, closes all connections and frees the port. */
  close(): Promise<void>;
}

export async function listen(
  console: Console,
  path: string,
  options: ListenOptions,
  { headersMs, requestMs }: SendLimits = LIMITS,
): Promise<ConsoleServer> {
  const { port = CONSOLE_PORT, host = "127.0.0.1" } = options;
  const limits = {
    headersTimeout: headersMs,
    requestTimeout: requestMs,
    connectionsCheckingInterval: LOOK_MS,
  };
  const server = createServer(limits, console.handler);
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, resolve);
  });
  const { port: taken } = server.address() as AddressInfo;
  const url = `http://${host.includes(":") ? `[${host}]` : host}:${taken}${path}/`;
  return {
    url,
    signInUrl: `${url}#token=${console.invite()}`,
    close: () =>
      new Promise((resolve) => {
        console.close();
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
