/** Builds the objects of webhook delivery from the options of `new Amends`. */
import type { Duty } from "../runtime/duty.ts";
import { retryLimitsOf, type PartContext } from "../runtime/part.ts";
import { DELIVERY, ORCHESTRATOR, SENDER } from "../storage/migrations/webhook-roles.ts";
import { checkRights } from "../storage/postgres/rights/check-rights.ts";
import type { Role } from "../storage/postgres/rights/rights.ts";
import type { RefusedWrites } from "../storage/write/refused-writes.ts";
import { DeadLetters } from "./dead-letters/dead-letters.ts";
import { deliveryDuty } from "./deliver/delivery-duty.ts";
import { Jobs } from "./deliver/jobs.ts";
import { Orchestrator } from "./deliver/orchestrator.ts";
import { orchestratorDuty, type Orchestrating } from "./deliver/orchestrator-duty.ts";
import { ResultWriter } from "./deliver/result-writer.ts";
import { DeliverySender } from "./deliver/sender.ts";
import { senderDuty, type SendingParts } from "./deliver/sending-pool.ts";
import { secretBox, type SecretBox } from "./http/secret-box.ts";
import { createSender, type Sender } from "./http/send.ts";
import { WebhookOperators } from "./operators.ts";
import { Publisher } from "./publish/publisher.ts";
import { readSettings, type WebhooksOptions, type WebhooksSettings } from "./settings.ts";
import { administratorDuty, type Disabled } from "./subscriptions/administrator.ts";
import { CONCURRENCY_MAX } from "./subscriptions/settings.ts";
import { Subscriptions } from "./subscriptions/subscriptions.ts";

/** How many failures in a row disable a subscription at the earliest. */
const DISABLE_FAILURES = 10;

export interface WebhookParts {
  readonly sender: Sender;
  readonly orchestrator: Orchestrator;
  readonly subscriptions: Subscriptions;
  readonly publisher: Publisher;
  readonly operators: WebhookOperators;
  readonly duties: WebhookDuties;
}

/** The duties of the worker. */
export interface WebhookDuties {
  /** One login for everything: creates jobs, sends them and applies their results. */
  readonly delivery: Duty;
  /** With any login: disables subscriptions. */
  readonly administrator: Duty;
  /** Separate logins: the orchestrator decides and does not send, the sender sends and does not decide. */
  readonly orchestrator: Duty;
  readonly sender: Duty;
  /** Something may be due now. */
  wake(): void;
}

interface DutyTools {
  readonly context: PartContext;
  readonly options: WebhooksOptions;
  readonly settings: WebhooksSettings;
  readonly box: SecretBox;
  readonly onDisabled: (disabled: readonly Disabled[]) => void;
}

export function assemble(
  context: PartContext,
  options: WebhooksOptions,
  onDisabled: DutyTools["onDisabled"],
): WebhookParts {
  const settings = readSettings(options);
  const { policy, attemptMax } = settings;
  const sender = options.sender ?? createSender({ clock: context.clock, ...options.sending });
  const box = secretBox(options.secretKey, "webhooks.secretKey");
  const orchestrator = new Orchestrator({
    policy,
    attemptMax,
    concurrencyMax: CONCURRENCY_MAX,
    lastingFailure: { afterMs: settings.disableAfterMs, failures: DISABLE_FAILURES },
  });
  const deadLetters = new DeadLetters((session, ids) => orchestrator.requeue(session, ids));
  const subscriptions = new Subscriptions({
    defaults: {
      concurrency: settings.subscriptionConcurrency,
      checkUrl: (url) => sender.checkUrl(url),
    },
    box,
  });
  const publisher = new Publisher(
    settings.payloadMax,
    () => context.newId(),
    () => context.tracer.current(),
  );
  const operators = new WebhookOperators({
    db: context.database,
    retryLimits: retryLimitsOf(context, "webhooks"),
    orchestrator,
    deadLetters,
    subscriptions,
  });
  const made = { sender, orchestrator, subscriptions, publisher, operators };
  const duties = dutiesOf(made, { context, options, settings, box, onDisabled });
  return { ...made, duties };
}

function dutiesOf(
  { sender, orchestrator, publisher }: Omit<WebhookParts, "duties">,
  { context, options, settings, box, onDisabled }: DutyTools,
): WebhookDuties {
  const { clock, owner, tracer, graceMs, database: db, closing: signal } = context;
  const { leaseMs, leaseMax, attemptMax, timeoutMs, concurrency } = settings;
  const retryLimits = retryLimitsOf(context, "webhooks");
  const jobs = new Jobs({ leaseMs, leaseMax, owner });
  const sending: SendingParts = {
    db,
    clock,
    retryLimits,
    leaseMs,
    capacity: concurrency,
    jobs,
    sender: new DeliverySender({
      sender,
      box,
      clock,
      timeoutMs,
      graceMs: options.sender ? graceMs : undefined,
      attemptMax,
      newId: () => context.newId(),
      tracer,
    }),
    onBug: (error) => context.onBug(error),
  };
  const administrator = administratorDuty({ db, retryLimits, publisher, onDisabled });
  const applying = (onDue: (ms: number) => void): Orchestrating => ({
    db,
    jobs,
    orchestrator,
    attemptMax,
    onDue,
    onDisable: () => administrator.dueIn(0),
    onDead: (deliveries) => context.warn({ deliveries }, "amends: webhook deliveries became dead letters"),
  });
  const watch = context.watch("write webhooks");
  const onRefused = (refused: RefusedWrites): void => context.onRefused("webhooks", refused);
  const here = applying((ms) => delivery.dueIn(ms));
  const writer = new ResultWriter({ db, signal, watch, onRefused, applying: here });
  const mayDeliver = async (role: Role, what: string): Promise<void> => {
    await sender.ready?.();
    await checkRights(db, role, what);
  };
  const delivery = deliveryDuty(sending, here, writer, () => mayDeliver(DELIVERY, "webhooks"));
  const orchestrating = orchestratorDuty(
    applying((ms) => orchestrating.dueIn(ms)),
    retryLimits,
    () => checkRights(db, ORCHESTRATOR, "webhooks:orchestrator"),
  );
  const reporting = new ResultWriter({ db, signal, watch, onRefused, applying: undefined });
  return {
    delivery,
    administrator,
    orchestrator: orchestrating,
    sender: senderDuty(sending, reporting, () => mayDeliver(SENDER, "webhooks:sender")),
    wake: () => [delivery, orchestrating].forEach((duty) => duty.dueIn(0)),
  };
}
