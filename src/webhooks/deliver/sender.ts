/**
 * Sends jobs: reads the payload and the address, sends the request, and reports the result. It changes no delivery; the
 * orchestrator decides.
 */
import type { JobResult } from "../../core/delivery/decide.ts";
import type { ErrorCode } from "../../core/delivery/error-code.ts";
import type { AttemptRecord, JobReport, LeasedJob } from "../../core/delivery/job.ts";
import type { Clock } from "../../storage/clock.ts";
import type { Row, Session } from "../../storage/database.ts";
import type { Lease } from "../../runtime/lease.ts";
import { Call, intercepted } from "../../runtime/call.ts";
import type { SpanNote, Tracer } from "../../runtime/trace.ts";
import type { SecretBox } from "../http/secret-box.ts";
import type { Stop } from "../http/exchange.ts";
import type { Sender, SendRequest, SendResult } from "../http/send.ts";
import { PAYLOAD, selectPayloads, selectTargets, TARGET, type Target as Aim } from "./attempt-queries.ts";

/** Where a delivery goes, and how. */
type Target = Omit<Aim, "subscriptionId">;

/** The event as it is sent, to however many subscriptions. */
interface Message {
  readonly key: string;
  readonly type: string;
  readonly body: Buffer;
  readonly traceparent: string | undefined;
}

/** A leased job with all that is needed to send it. */
export interface DeliveryTask {
  readonly id: string;
  readonly token: number;
  readonly job: LeasedJob;
  readonly target: Target;
  /** What the message is signed with; undefined if that cannot be read. */
  readonly secrets: Secrets | undefined;
  readonly message: Message;
  /** When it was read, by the process's clock: the database's instant plus what has passed since is now. */
  readonly readAtMs: number;
}

/** The secrets of a subscription, the newest first, and when each of them ends. */
interface Secrets {
  readonly texts: readonly string[];
  readonly untilMs: readonly number[];
}

export interface DeliverySenderOptions {
  readonly sender: Pick<Sender, "send">;
  readonly box: Pick<SecretBox, "open">;
  readonly clock: Clock;
  readonly timeoutMs: number;
  /**
   * How long a sender that the user passed may still take after the timeout. The built-in sender ends its requests in
   * time.
   */
  readonly graceMs?: number | undefined;
  readonly attemptMax: number;
  readonly newId: () => string;
  readonly tracer: Tracer;
}

/** The claim that a call is made under. */
export type Stoppage = Stop & Pick<Lease, "keepOrphan" | "unlessLost">;

interface Sent {
  readonly answer: SendResult;
  /** The sender has not returned. */
  readonly late?: Promise<Sent>;
}

const NOTHING_SENT: AttemptRecord = {
  url: null,
  sentAtMs: null,
  status: null,
  durationMs: 0,
  responseHeaders: null,
  responseBody: null,
};

/** A person has removed the rows of the event or the subscription by hand: there is nothing to send. */
const NOWHERE: Pick<DeliveryTask, "target" | "secrets" | "message"> = {
  target: {
    status: "Deleted",
    url: "",
    secrets: [],
    timeoutMs: undefined,
    attemptMax: undefined,
    nowMs: 0,
  },
  secrets: undefined,
  message: { key: "", type: "", body: Buffer.alloc(0), traceparent: undefined },
};

export class DeliverySender {
  readonly #options: DeliverySenderOptions;

  constructor(options: DeliverySenderOptions) {
    this.#options = options;
  }

  async read(session: Session, jobs: readonly LeasedJob[]): Promise<readonly DeliveryTask[]> {
    if (jobs.length === 0) return [];
    const { dialect } = session;
    const oneOfEach = new Map(jobs.map(({ id, subscriptionId }) => [subscriptionId, id]));
    const events = new Set(jobs.map(({ eventId }) => eventId));
    const readAtMs = this.#options.clock.monotonicMs();
    const [targetRows, payloadRows] = await Promise.all([
      session.query(selectTargets(dialect, [...oneOfEach.values()])),
      session.query(selectPayloads(dialect, [...events])),
    ]);
    const targets = new Map(targetRows.map((row) => this.#aim(row)));
    const messages = new Map(payloadRows.map(messageOf));
    return jobs.map((job) => {
      const aim = targets.get(job.subscriptionId);
      const message = messages.get(job.eventId);
      const { id, token } = job;
      if (!aim || !message) return { id, token, job, ...NOWHERE, readAtMs };
      return { id, token, job, target: aim.target, secrets: aim.secrets, message, readAtMs };
    });
  }

  /** Sends, unless the subscription takes nothing any more. Undefined if the job was lost before its end was known. */
  send(task: DeliveryTask, stop: Stoppage): Promise<JobReport | undefined> {
    const refused = (code: ErrorCode): Promise<JobReport> =>
      Promise.resolve(this.report(task, { ok: false, code, final: true }));
    switch (task.target.status) {
      case "Deleted":
        return refused("subscription_deleted");
      case "Disabled":
        return refused("subscription_disabled");
      default: // also a paused one: it was sent on its way before, and that is not taken back
        return this.#options.tracer.run(
          () => spanOf(task),
          () => this.#send(task, stop),
          failureOf,
        );
    }
  }

  /** A report of a result, with its own id. */
  report(task: DeliveryTask, result: JobResult, attempt: AttemptRecord = NOTHING_SENT): JobReport {
    const attemptMax = task.target.attemptMax ?? this.#options.attemptMax;
    const wasSent = attempt.sentAtMs !== null;
    return { report: this.#options.newId(), job: task.job, result, attemptMax, wasSent, attempt };
  }

  async #send(task: DeliveryTask, stop: Stoppage): Promise<JobReport | undefined> {
    const { clock } = this.#options;
    const { target, message, secrets } = task;
    const sentAtMs = Math.round(target.nowMs + clock.monotonicMs() - task.readAtMs);
    if (secrets === undefined) return this.report(task, { ok: false, code: "secret_unreadable" });
    const request: SendRequest = {
      url: target.url,
      body: message.body,
      id: message.key,
      timestamp: Math.floor(sentAtMs / 1000),
      secrets: alive(secrets, sentAtMs),
      timeoutMs: target.timeoutMs ?? this.#options.timeoutMs,
      stop,
    };
    const { sender, graceMs } = this.#options;
    const answer = await intercepted(
      () => ({ part: "webhook", name: message.type, attempt: task.job.attempt, key: message.key }),
      () => (graceMs === undefined ? sender.send(request) : this.#answerTo(task, request, stop)),
    );
    if (!answer) return undefined;
    return this.report(task, resultOf(answer), attemptOf(target.url, sentAtMs, answer));
  }

  /**
   * If a sender that the user passed does not return in time, the attempt has timed out, and the call keeps its slot
   * until it returns. The worker waits for the end of a last attempt: no delivery is dead-lettered while its call is
   * known to run.
   */
  async #answerTo(task: DeliveryTask, request: SendRequest, stop: Stoppage): Promise<SendResult | undefined> {
    const { sender, clock, graceMs, attemptMax } = this.#options;
    const { timeoutMs = 0 } = request;
    const answered = sender.send(request).then(
      (answer): Sent => ({ answer }),
      (): Sent => ({ answer: { ok: false, code: "send_failed", durationMs: 0 } }),
    );
    const overdue = (late: Promise<Sent>): Sent => ({
      answer: { ok: false, code: "timeout", durationMs: timeoutMs },
      late,
    });
    const sent = await new Call<Sent>().within({ clock, timeoutMs, graceMs }, answered, overdue);
    if (!sent.late) return sent.answer;
    stop.keepOrphan(sent.late);
    const isLast = task.job.attempt >= (task.target.attemptMax ?? attemptMax);
    return isLast ? (await stop.unlessLost(sent.late))?.answer : sent.answer;
  }

  #aim(row: Row): readonly [subscriptionId: string, aim: Pick<DeliveryTask, "target" | "secrets">] {
    const { subscriptionId, ...target } = TARGET.read(row);
    return [subscriptionId, { target, secrets: this.#open(target, subscriptionId) }];
  }

  /** Once for everything that goes to a subscription; undefined if one that is alive cannot be read. */
  #open({ secrets, nowMs }: Target, subscriptionId: string): Secrets | undefined {
    const found = secrets.filter(({ untilMs = Infinity }) => untilMs > nowMs);
    try {
      return {
        texts: found.map(({ text }) => this.#options.box.open(text, subscriptionId)),
        untilMs: found.map(({ untilMs = Infinity }) => untilMs),
      };
    } catch {
      return undefined;
    }
  }
}

function messageOf(row: Row): readonly [eventId: string, message: Message] {
  const { eventId, payload, ...event } = PAYLOAD.read(row);
  return [eventId, { ...event, body: Buffer.from(payload, "utf8") }];
}

function alive({ texts, untilMs }: Secrets, nowMs: number): readonly string[] {
  if (untilMs.every((ms) => ms > nowMs)) return texts;
  return texts.filter((_, index) => (untilMs[index] ?? Infinity) > nowMs);
}

function failureOf(report: JobReport | undefined): string | undefined {
  return report === undefined || report.result.ok ? undefined : report.result.code;
}

/** Of an address no more than its host: what follows may be a secret. */
function spanOf({ job, target, message }: DeliveryTask): SpanNote {
  return {
    name: `deliver ${message.type}`,
    kind: "client",
    labels: { "amends.event": message.type },
    attributes: {
      "amends.delivery_id": job.deliveryId,
      "amends.subscription_id": job.subscriptionId,
      "amends.attempt": job.attempt,
      "server.address": URL.canParse(target.url) ? new URL(target.url).hostname : "",
    },
    parent: message.traceparent,
  };
}

function resultOf({ ok, code, gone, retryAfterMs }: SendResult): JobResult {
  return { ok, code, final: gone, gone, retryAfterMs };
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
