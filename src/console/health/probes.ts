/**
 * A small HTTP server for the probes of a worker: `/livez`, `/readyz`, `/metrics`. It asks for no token, because probes
 * and scrapers have none: it answers with counts, names and labels, never with values or ids. It listens on loopback
 * unless it is told otherwise.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { positiveMs, type Duration } from "../../core/duration.ts";
import { AmendsError } from "../../core/errors.ts";
import { refuseUnknown } from "../../core/options.ts";
import type { Amends } from "../../operate/amends.ts";
import {
  STOPPING,
  STUCK_AFTER,
  workerReadiness,
  type WorkerReadiness,
} from "../../operate/health/readiness.ts";
import { ConsoleContext } from "../context.ts";
import type { Health } from "../contract.ts";
import { healthFigures, METRICS_TYPE } from "./figures.ts";

/** Where a worker answers probes. */
export interface ProbeOptions {
  /** The port; 0 takes a free one. */
  readonly port: number;
  /** The address to listen on. Default: 127.0.0.1; in a container 0.0.0.0. */
  readonly host?: string;
  /** `/readyz` fails once due work has waited, or the worker has not looked for work, for this long. Default: 5m. */
  readonly stuckAfter?: Duration;
}

/** A server that answers probes. */
export interface ProbeServer {
  readonly url: string;
  /** From now on `/readyz` fails, because the process stops; `/livez` and `/metrics` go on. */
  drain(): void;
  close(): Promise<void>;
}

/** A probe that sends its request more slowly than this is none. */
const LIMITS = { headersTimeout: 5_000, requestTimeout: 5_000, connectionsCheckingInterval: 500 };
const PORT_MAX = 65_535;
const PATHS = "/livez, /readyz, /metrics";

interface Answer {
  readonly status: number;
  readonly type: string;
  readonly body: string;
}

/** What a probe server answers with. */
export interface ProbeAnswers {
  /** The checks of `/readyz`. */
  readiness(): Promise<ProbedReadiness>;
  /** The text of `/metrics`. */
  metrics(): Promise<string>;
}

/** Whether work gets on, and what was checked. */
export type ProbedReadiness = Pick<WorkerReadiness, "ready" | "checks">;

/** Answers probes for the worker of this process. */
export async function listenForProbes(amends: Amends, options: ProbeOptions): Promise<ProbeServer> {
  const { stuckAfter = STUCK_AFTER } = options;
  const figures = healthFigures(new ConsoleContext(amends, []), positiveMs(stuckAfter, "stuckAfter"));
  return answerProbes(options, {
    readiness: async () => workerReadiness(await figures.checks.get()),
    metrics: () => figures.metrics.get(),
  });
}

/** Answers probes with what the caller knows. */
export async function answerProbes(options: ProbeOptions, answers: ProbeAnswers): Promise<ProbeServer> {
  const { port, host = "127.0.0.1" } = options;
  refuseUnknown(options, ["port", "host", "stuckAfter"], "`health`");
  if (!Number.isInteger(port) || port < 0 || port > PORT_MAX)
    throw new AmendsError("BAD_OPTION", `\`health.port\` must be a whole number, 0 to ${PORT_MAX}.`);
  let isStopping = false;
  const server = createServer(LIMITS, (request, response) => {
    void answer(request, answers, isStopping).then((given) => send(response, given));
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, resolve);
  });
  const { port: taken } = server.address() as AddressInfo;
  return {
    url: `http://${host.includes(":") ? `[${host}]` : host}:${taken}/`,
    drain: () => {
      isStopping = true;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function answer(
  { method, url = "/" }: IncomingMessage,
  answers: ProbeAnswers,
  isStopping: boolean,
): Promise<Answer> {
  if (method !== "GET" && method !== "HEAD") return text(405, "Method not allowed. Use GET.\n");
  switch (url.split("?", 1)[0]) {
    case "/livez":
      return json(200, { status: "ok" });
    case "/readyz":
      return readiness(answers, isStopping);
    case "/metrics":
      return metrics(answers);
    default:
      return text(404, `No such page. There are: ${PATHS}.\n`);
  }
}

async function readiness(answers: ProbeAnswers, isStopping: boolean): Promise<Answer> {
  if (isStopping) return json(503, { status: "stuck", checks: STOPPING.checks });
  const { ready, ...found } = await answers.readiness();
  return json(ready ? 200 : 503, { status: ready ? "ok" : "stuck", ...found });
}

async function metrics(answers: ProbeAnswers): Promise<Answer> {
  try {
    return { status: 200, type: METRICS_TYPE, body: await answers.metrics() };
  } catch {
    return text(503, "The database does not answer.\n");
  }
}

function json(status: number, body: Health): Answer {
  return { status, type: "application/json; charset=utf-8", body: `${JSON.stringify(body)}\n` };
}

function text(status: number, body: string): Answer {
  return { status, type: "text/plain; charset=utf-8", body };
}

/** Node.js leaves out the body of an answer to HEAD. */
function send(response: ServerResponse, { status, type, body }: Answer): void {
  response.writeHead(status, {
    "content-type": type,
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    ...(status === 405 && { allow: "GET, HEAD" }),
  });
  response.end(body);
}
