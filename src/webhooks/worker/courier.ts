/**
 * Carries jobs out: reads what is to be sent where, sends it, and tells what came of it. It changes no delivery and
 * decides nothing; whoever takes its report does.
 */
import type { JobResult } from "../../core/delivery/decide.ts";
import {
  SUBSCRIPTION_DELETED,
  SUBSCRIPTION_DISABLED,
  type AttemptRecord,
  type JobReport,
  type LeasedJob,
  type Verdict,
} from "../../core/delivery/job.ts";
import type { Clock } from "../../storage/clock.ts";
import type { Session } from "../../storage/database.ts";
import { untraced, type SpanNote, type Tracer } from "../../work/trace.ts";
import type { SecretBox } from "../sending/secret-box.ts";
import type { Sender, SendResult } from "../sending/send.ts";
import { insertAttempts, selectPayloads, selectTargets, selectVerdicts } from "./queries.ts";
import { toMessage, toTarget, type Message, type Target } from "./rows.ts";

/** A leased job with all that is needed to carry it out. */
export interface Errand extends LeasedJob {
  readonly target: Target;
  readonly message: Message;
  /** When it was read, by the process's clock: the database's instant plus what has passed since is now. */
  readonly readAtMs: number;
}

export interface CourierOptions {
  readonly sender: Pick<Sender, "send">;
  readonly box: Pick<SecretBox, "open">;
  readonly clock: Clock;
  readonly timeoutMs: number;
  readonly attemptMax: number;
  readonly newId: () => string;
  readonly tracer?: Tracer;
}

const NOTHING_SENT: AttemptRecord = {
  url: null,
  sentAtMs: null,
  status: null,
  durationMs: 0,
  responseHeaders: null,
  responseBody: null,
};

/** Somebody has removed the rows of the event or the subscription by hand: there is nothing to send. */
const NOWHERE: Pick<Errand, "target" | "message"> = {
  target: {
    eventId: "0",
    status: "Deleted",
    url: "",
    secrets: [],
    timeoutMs: undefined,
    attemptMax: undefined,
    nowMs: 0,
  },
  message: { key: "", type: "", payload: "", traceparent: undefined },
};

export class Courier {
  readonly #options: CourierOptions;

  constructor(options: CourierOptions) {
    this.#options = options;
  }

  async read(session: Session, jobs: readonly LeasedJob[]): Promise<readonly Errand[]> {
    if (jobs.length === 0) return [];
    const { dialect } = session;
    const ids = jobs.map(({ id }) => id);
    const readAtMs = this.#options.clock.monotonicMs();
    const [targetRows, payloadRows] = await Promise.all([
      session.query(selectTargets(dialect, ids)),
      session.query(selectPayloads(dialect, ids)),
    ]);
    const targets = new Map(targetRows.map((row) => [String(row["job_id"]), toTarget(row)]));
    const messages = new Map(payloadRows.map((row) => [String(row["event_id"]), toMessage(row)]));
    return jobs.map((job) => {
      const target = targets.get(job.id);
      const message = target && messages.get(target.eventId);
      return target && message ? { ...job, target, message, readAtMs } : { ...job, ...NOWHERE, readAtMs };
    });
  }

  /** Sends, unless nobody is there to get it any more. */
  async carry(errand: Errand, signal: AbortSignal): Promise<JobReport> {
    const { target } = errand;
    switch (target.status) {
      case "Deleted":
        return this.report(errand, { ok: false, code: SUBSCRIPTION_DELETED, final: true });
      case "Disabled":
        return this.report(errand, { ok: false, code: SUBSCRIPTION_DISABLED, final: true });
      default: // also a paused one: it was sent on its way before, and that is not taken back
        return (this.#options.tracer ?? untraced).run(
          spanOf(errand),
          () => this.#send(errand, signal),
          ({ result }) => (result.ok ? undefined : result.code),
        );
    }
  }

  /** A report of a result, under an id of its own. */
  report(errand: Errand, result: JobResult, attempt: AttemptRecord = NOTHING_SENT): JobReport {
    const attemptMax = errand.target.attemptMax ?? this.#options.attemptMax;
    const { id, token, deliveryId, subscriptionId, attempt: number, leases } = errand;
    const job = { id, token, deliveryId, subscriptionId, attempt: number, leases };
    return { report: this.#options.newId(), job, result, attemptMax, attempt };
  }

  /** Every report becomes a line that stays, whatever else it leads to. */
  async record(session: Session, reports: readonly JobReport[]): Promise<void> {
    await session.query(insertAttempts(session.dialect, reports));
  }

  /** How reports were taken that are on record. */
  async verdicts(
    session: Pick<Session, "dialect" | "query">,
    reports: readonly string[],
  ): Promise<ReadonlyMap<string, Verdict>> {
    const rows = await session.query(selectVerdicts(session.dialect, reports));
    return new Map(rows.map((row) => [row["report"] as string, row["verdict"] as Verdict]));
  }

  async #send(errand: Errand, signal: AbortSignal): Promise<JobReport> {
    const { sender, clock, timeoutMs } = this.#options;
    const { target, message } = errand;
    const sentAtMs = Math.round(target.nowMs + clock.monotonicMs() - errand.readAtMs);
    const secrets = this.#secretsOf(errand, sentAtMs);
    if (secrets === undefined) return this.report(errand, { ok: false, code: "secret_unreadable" });
    const answer = await sender.send({
      url: target.url,
      body: Buffer.from(message.payload, "utf8"),
      id: message.key,
      timestamp: Math.floor(sentAtMs / 1000),
      secrets,
      timeoutMs: target.timeoutMs ?? timeoutMs,
      signal,
    });
    return this.report(errand, resultOf(answer), attemptOf(target.url, sentAtMs, answer));
  }

  /** Those that are alive, the newest first; undefined where one cannot be read. */
  #secretsOf({ subscriptionId, target }: Errand, nowMs: number): readonly string[] | undefined {
    const alive = target.secrets.filter(({ untilMs = Infinity }) => untilMs > nowMs);
    try {
      return alive.map(({ text }) => this.#options.box.open(text, subscriptionId));
    } catch {
      return undefined;
    }
  }
}

/** Of an address no more than its host: what follows may be a secret. */
function spanOf({ deliveryId, subscriptionId, attempt, target, message }: Errand): SpanNote {
  return {
    name: `deliver ${message.type}`,
    kind: "client",
    labels: { "amends.event": message.type },
    attributes: {
      "amends.delivery_id": deliveryId,
      "amends.subscription_id": subscriptionId,
      "amends.attempt": attempt,
      "server.address": URL.canParse(target.url) ? new URL(target.url).hostname : "",
    },
    parent: message.traceparent,
  };
}

function resultOf({ ok, code, gone, retryAfterMs }: SendResult): JobResult {
  return { ok, code, ...(gone && { final: true }), ...(retryAfterMs !== undefined && { retryAfterMs }) };
}

function attemptOf(
  url: string,
  sentAtMs: number,
  { status, durationMs, response }: SendResult,
): AttemptRecord {
  return {
    url,
    sentAtMs,
    status: status ?? null,
    durationMs,
    responseHeaders: response ? JSON.stringify(response.headers) : null,
    responseBody: response ? response.body : null,
  };
}
