/** Puts the objects of webhook delivery together, once, from what `new Amends` was given. */
import { retryLimitsOf, type PartContext } from "../runtime/part.ts";
import type { LeasePool } from "../runtime/lease-pool.ts";
import { Booking } from "./booking.ts";
import { DeadLetters } from "./dead-letters/dead-letters.ts";
import { dispatchDesk } from "./dispatch.ts";
import { JobLayer } from "./jobs/job-layer.ts";
import { WebhookOperators } from "./operators.ts";
import { Orchestrator } from "./orchestrator/orchestrator.ts";
import { Publisher } from "./publishing.ts";
import { secretBox, type SecretBox } from "./sending/secret-box.ts";
import { createSender, type Sender } from "./sending/send.ts";
import { readSettings, type WebhooksOptions, type WebhooksSettings } from "./settings.ts";
import { CONCURRENCY_MAX } from "./subscriptions/settings.ts";
import { Subscriptions, type Disabled } from "./subscriptions/subscriptions.ts";
import { DeliverySender, type DeliveryTask } from "./worker/courier.ts";

/** How many failures in a row disable a subscription at the earliest. */
const DISABLE_FAILURES = 10;

export interface WebhookParts {
  readonly sender: Sender;
  readonly orchestrator: Orchestrator;
  readonly subscriptions: Subscriptions;
  readonly publisher: Publisher;
  readonly operators: WebhookOperators;
  /** What the worker drives. */
  readonly pool: LeasePool<DeliveryTask>;
}

/** What the dispatch is made of, beside the parts that users reach. */
interface DispatchTools {
  readonly context: PartContext;
  readonly options: WebhooksOptions;
  readonly settings: WebhooksSettings;
  readonly box: SecretBox;
  readonly deadLetters: DeadLetters;
  readonly onDisabled: (disabled: readonly Disabled[]) => void;
}

export function assemble(
  context: PartContext,
  options: WebhooksOptions,
  onDisabled: DispatchTools["onDisabled"],
): WebhookParts {
  const settings = readSettings(options);
  const { policy, attemptMax } = settings;
  const sender = options.sender ?? createSender({ clock: context.clock, ...options.sending });
  const box = secretBox(options.secretKey, "webhooks.secretKey");
  const orchestrator = new Orchestrator({ policy, attemptMax, concurrencyMax: CONCURRENCY_MAX });
  const deadLetters = new DeadLetters((session, ids) => orchestrator.requeue(session, ids));
  const subscriptions = new Subscriptions({
    defaults: {
      concurrency: settings.subscriptionConcurrency,
      checkUrl: (url) => sender.checkUrl(url),
    },
    box,
    disableAfterMs: settings.disableAfterMs,
    disableAfterFailures: DISABLE_FAILURES,
  });
  const publisher = new Publisher(
    orchestrator,
    settings.payloadMax,
    () => context.newId(),
    () => context.tracer.current(),
  );
  const operators = new WebhookOperators({
    db: context.database,
    retryLimits: retryLimitsOf(context),
    orchestrator,
    deadLetters,
    subscriptions,
  });
  const made = { sender, orchestrator, subscriptions, publisher, operators };
  return { ...made, pool: dispatchOf(made, { context, options, settings, box, deadLetters, onDisabled }) };
}

function dispatchOf(
  { sender, orchestrator, subscriptions, publisher }: Omit<WebhookParts, "pool">,
  { context, options, settings, box, deadLetters, onDisabled }: DispatchTools,
): LeasePool<DeliveryTask> {
  const { clock, owner, tracer, graceMs } = context;
  const { leaseMs, leaseMax, attemptMax, timeoutMs, concurrency } = settings;
  const shared = {
    db: context.database,
    signal: context.closing,
    orchestrator,
    deadLetters,
    jobs: new JobLayer({ leaseMs, leaseMax, owner }),
    deliverySender: new DeliverySender({
      sender,
      box,
      clock,
      timeoutMs,
      graceMs: options.sender ? graceMs : undefined,
      attemptMax,
      newId: () => context.newId(),
      tracer,
    }),
    onDead: (deliveries: readonly string[]) =>
      context.warn({ deliveries }, "amends: webhook deliveries were given up; see the dead letters"),
    onTrouble: (error: unknown, attempt: number) => context.onTrouble(error, attempt),
  };
  const booking: Booking = new Booking({
    ...shared,
    subscriptions,
    publisher,
    onDue: (ms) => pool.dueIn(ms),
    onDisabled,
  });
  const pool = dispatchDesk({
    ...shared,
    clock,
    leaseMs,
    capacity: concurrency,
    booking: () => booking,
    onBug: (error) => context.onBug(error),
  });
  return pool;
}
