/**
 * Sends one webhook: the exact bytes, signed with every active secret, to an untrusted receiver. Every failure is an
 * outcome with a stable label. `send` never throws, and a receiver cannot make it wait longer or read more than its
 * limits.
 */
import type { Dispatcher } from "undici";
import { positiveMs, type Duration } from "../../core/duration.ts";
import { AmendsError } from "../../core/errors.ts";
import { refuseUnknown } from "../../core/options.ts";
import { statusMeaning } from "../../core/delivery/response.ts";
import { retryAfterMs } from "../../core/retry-after.ts";
import { systemClock, type Clock } from "../../storage/clock.ts";
import { readNetworks } from "./address.ts";
import { loadAgent } from "./client.ts";
import { Connector, type Dial, type Resolve } from "./connector.ts";
import { exchange, type Answer, type Limits, type Outgoing, type Stop } from "./exchange.ts";
import { readHeaders } from "./headers.ts";
import { describeAnswer, first, type SendResponse } from "./response.ts";
import { signMessage, type WebhookHeaders } from "./signature.ts";
import { readSecret, type AnySecret } from "./secret.ts";
import type { ErrorCode } from "../../core/delivery/error-code.ts";
import { readTarget, targetError, type Target, type TargetPolicy, type TargetRefusal } from "./target.ts";

/** Which addresses a sender may call, and how. */
export interface SenderOptions {
  /** Allows http URLs, whose traffic is not encrypted. Default: false. */
  readonly allowHttp?: boolean;
  /** The ports that may be called. Default: 443 and 8443, with `allowHttp` also 80. */
  readonly allowPorts?: readonly number[] | "any";
  /** Private networks that may be called, such as "10.1.0.0/16" or "127.0.0.1". Default: none. */
  readonly allowNetworks?: readonly string[];
  /** The time limit of name resolution, connection and TLS together. Default: 5s. */
  readonly connectTimeout?: Duration;
  /** The number of connections to one receiver. Default: 32. */
  readonly connections?: number;
  /** Trusted CA certificates as PEM. Default: those of the platform. */
  readonly ca?: string | readonly string[];
  /** Replaces the platform's name resolution. Every address that it returns is checked. */
  readonly resolve?: Resolve;
  /** The clock behind time limits. Default: real time. */
  readonly clock?: Clock;
}

/** One webhook to send. */
export interface SendRequest {
  /** The URL of the receiver. */
  readonly url: string;
  /** The body. It is sent and signed byte by byte. */
  readonly body: Uint8Array;
  /** Further headers. Default: `content-type: application/json`. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The header `webhook-id`, the same over all attempts. */
  readonly id: string;
  /** The time of this attempt in seconds since the epoch. */
  readonly timestamp: number;
  /** The secrets to sign with, the newest first. */
  readonly secrets: readonly string[];
  /** The time limit of the whole call in milliseconds. Default: 20000. */
  readonly timeoutMs?: number;
  /** Aborts the call when the worker shuts down or its claim is lost. Default: the call cannot be aborted. */
  readonly stop?: Stop;
}

/** The result of a call. A failed call is a result too: `send` does not throw. */
export interface SendResult {
  /** True if the receiver answered with a 2xx status. */
  readonly ok: boolean;
  /** `http_<status>`, or an error code. The webhooks guide lists them. */
  readonly code: string;
  /** The HTTP status; undefined if there was no response. */
  readonly status?: number;
  /** How long the call took, in milliseconds. */
  readonly durationMs: number;
  /** The wait that the receiver asked for in milliseconds, at most one day. */
  readonly retryAfterMs?: number;
  /** A few headers and the beginning of the body; undefined if there was no response. */
  readonly response?: SendResponse;
  /** True if the receiver answered 410: its subscription is disabled. */
  readonly gone?: true;
}

/** Sends webhooks over HTTP. Pass your own as `sender` in tests. */
export interface Sender {
  /** Sends one webhook. It does not throw: failures are results. */
  send(request: SendRequest): Promise<SendResult>;
  /** Throws an `AmendsError` if the URL may not be called. Host names are not resolved here. */
  checkUrl(url: string): void;
  /** Called before a worker starts. Throws if this process cannot send. */
  ready?(): Promise<void>;
  /** Closes all connections. Calls under way fail with the code `closed`. */
  close(): Promise<void>;
}

const CONNECT_MS = 5_000;
const TOTAL_MS = 20_000;
const RESPONSE_MAX_BYTES = 16 * 1024;
const HEADERS_MAX_BYTES = 16 * 1024;
const CONNECTIONS = 32;
/** Shorter than the time after which common servers close an idle connection, so that they rarely do so first. */
const IDLE_MS = 4_000;
const IDLE_MAX_MS = 30_000;

const OPTIONS: readonly (keyof SenderOptions)[] = [
  "allowHttp",
  "allowPorts",
  "allowNetworks",
  "connectTimeout",
  "connections",
  "ca",
  "resolve",
  "clock",
];

const REMEMBERED_MAX = 1_000;

/** A cache of pure results for texts that repeat. */
class Remembered<T extends object | string> {
  readonly #known = new Map<string, T>();
  readonly #workOut: (text: string) => T;

  constructor(workOut: (text: string) => T) {
    this.#workOut = workOut;
  }

  get(text: string): T {
    const found = this.#known.get(text);
    if (found !== undefined) return found;
    const answer = this.#workOut(text);
    // Cleared when it is full: entries that are in use return at once.
    if (this.#known.size >= REMEMBERED_MAX) this.#known.clear();
    this.#known.set(text, answer);
    return answer;
  }

  forget(): void {
    this.#known.clear();
  }
}

/** `dial` opens plain connections; only tests pass one, to observe and to redirect connections. */
export function createSender(options: SenderOptions = {}, dial?: Dial): Sender {
  refuseUnknown(options, OPTIONS, "webhooks.sending");
  return new HttpSender(options, dial);
}

class HttpSender implements Sender {
  readonly #targets: Remembered<Target | TargetRefusal>;
  readonly #secrets: Remembered<AnySecret> = new Remembered((text) => readSecret(text, "A webhook's secret"));
  readonly #connector: Connector;
  readonly #connections: number;
  readonly #clock: Clock;
  #opening: Promise<Dispatcher> | undefined;
  #client: Dispatcher | undefined;
  #closed = false;

  constructor(options: SenderOptions, dial: Dial | undefined) {
    const { allowHttp = false, allowNetworks = [], connections = CONNECTIONS, clock = systemClock } = options;
    const open = readNetworks(allowNetworks, "allowNetworks");
    const policy: TargetPolicy = { http: allowHttp, ports: readPorts(options.allowPorts, allowHttp), open };
    this.#targets = new Remembered((url) => readTarget(url, policy));
    this.#connector = new Connector({
      open,
      clock,
      connectMs: positiveMs(options.connectTimeout ?? CONNECT_MS, "connectTimeout"),
      resolve: options.resolve,
      ca: options.ca,
      dial,
    });
    if (!Number.isInteger(connections) || connections < 1) {
      throw new AmendsError("BAD_OPTION", "connections must be a whole number of at least 1.");
    }
    this.#connections = connections;
    this.#clock = clock;
  }

  async send(request: SendRequest): Promise<SendResult> {
    const startedMs = this.#clock.monotonicMs();
    const outcome = await this.#begin(request);
    const durationMs = Math.round(this.#clock.monotonicMs() - startedMs);
    if (typeof outcome === "string") return { ok: false, code: outcome satisfies ErrorCode, durationMs };
    const { status } = outcome;
    const { ok, code, gone } = statusMeaning(status);
    const response = describeAnswer(outcome);
    if (ok) return { ok, code, status, durationMs, response };
    const asked = first(outcome.headers["retry-after"]);
    const retryMs = retryAfterMs(asked, request.timestamp * 1_000 + durationMs);
    return {
      ok,
      code,
      status,
      durationMs,
      response,
      ...(retryMs !== undefined && { retryAfterMs: retryMs }),
      ...(gone && { gone }),
    };
  }

  checkUrl(url: string): void {
    const target = this.#targets.get(url);
    if (typeof target === "string") throw targetError(target);
  }

  async ready(): Promise<void> {
    await this.#open();
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#secrets.forget();
    const client = await this.#opening?.catch(() => undefined);
    const ended = client?.destroy();
    this.#connector.close();
    await ended;
  }

  /** The response, or the label of the failure. */
  #begin(request: SendRequest): Promise<Answer | ErrorCode> | ErrorCode {
    try {
      if (this.#closed) return "closed";
      const target = this.#targets.get(request.url);
      if (typeof target === "string") return target;
      if (!(request.body instanceof Uint8Array)) return "request_invalid";
      const secrets = request.secrets.map((secret) => this.#secrets.get(secret));
      const headers = headersOf(request.headers, signMessage(request, secrets));
      const { origin, path } = target;
      const outgoing: Outgoing = { origin, path, method: "POST", headers, body: request.body };
      const limits: Limits = {
        timeoutMs: request.timeoutMs ?? TOTAL_MS,
        maxBytes: RESPONSE_MAX_BYTES,
        clock: this.#clock,
        stop: request.stop,
      };
      if (this.#client) return exchange(this.#client, outgoing, limits);
      return this.#open().then(
        (client) => exchange(client, outgoing, limits),
        () => "send_failed",
      );
    } catch (error) {
      return error instanceof AmendsError ? "request_invalid" : "send_failed";
    }
  }

  /** The HTTP client is loaded on first use, so that a process that sends no webhooks does not load it. */
  #open(): Promise<Dispatcher> {
    this.#opening ??= loadAgent().then((Agent) => {
      this.#client = new Agent({
        connect: (wanted, callback) => this.#connector.connect(wanted, callback),
        connections: this.#connections,
        pipelining: 1,
        allowH2: false,
        keepAliveTimeout: IDLE_MS,
        keepAliveMaxTimeout: IDLE_MAX_MS,
        maxHeaderSize: HEADERS_MAX_BYTES,
        // One clock for all limits, ours: see exchange.ts and connector.ts.
        headersTimeout: 0,
        bodyTimeout: 0,
      });
      return this.#client;
    });
    return this.#opening;
  }
}

function headersOf(own: SendRequest["headers"], signed: WebhookHeaders): Record<string, string> {
  const plain = {
    "content-type": "application/json",
    "user-agent": "amends-webhooks",
    "webhook-id": signed["webhook-id"],
    "webhook-timestamp": signed["webhook-timestamp"],
    "webhook-signature": signed["webhook-signature"],
  };
  return own ? { ...plain, ...readHeaders(own), ...signed } : plain;
}

function readPorts(ports: SenderOptions["allowPorts"], http: boolean): ReadonlySet<number> | "any" {
  if (ports === "any") return ports;
  const list = ports ?? [443, 8443, ...(http ? [80] : [])];
  if (Array.isArray(list) && list.every((port) => Number.isInteger(port) && port > 0 && port < 65_536)) {
    return new Set(list);
  }
  throw new AmendsError("BAD_OPTION", 'allowPorts must be a list of ports, or "any".');
}
