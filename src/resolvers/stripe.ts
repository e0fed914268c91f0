/**
 * Deletes, corrects and verifies Stripe customers through the application's own client. The runner owns the
 * retries, so the client's own retries are disabled. Deleting a customer removes the customer's personal data at
 * Stripe; payments stay, as the law requires.
 */
import { positiveMs, type Duration } from "../core/duration.ts";
import { AmendsError } from "../core/errors.ts";
import { checkId } from "../core/identity.ts";
import { refuseUnknown } from "../core/options.ts";
import type { Correction, SubjectRef } from "../core/outbox/entry.ts";
import {
  ResolverError,
  type RectifyingResolver,
  type ResolverCall,
  type VerifyingResolver,
} from "../erasure/remote/resolver.ts";
import type { Clock } from "../storage/clock.ts";
import { limitedCall, type CallLimits } from "./limited-call.ts";
import {
  changeOf,
  fieldOf,
  STRIPE_FIELDS,
  type StripeClient,
  type StripeCustomer,
  type StripeField,
  type StripeRequestOptions,
} from "./stripe-client.ts";
import { stripeFailure, stripeTrouble } from "./stripe-errors.ts";

/** The options of `stripeResolver`. */
export interface StripeResolverOptions {
  /**
   * The name of the resolver; give each Stripe account its own. A ref names a connected account in
   * `extra.stripeAccount`. Default: "stripe".
   */
  readonly name?: string;
  /**
   * The customer field of each category of personal data. A category without a field is not sent to Stripe. Default:
   * `name`, `email` and `phone` map to themselves.
   */
  readonly categories?: Readonly<Record<string, StripeField>>;
  /** The timeout of one request. Default: 30s. */
  readonly timeout?: Duration;
  /** The clock behind timeouts. Default: real time. */
  readonly clock?: Clock;
}

const CATEGORIES: Readonly<Record<string, StripeField>> = { name: "name", email: "email", phone: "phone" };

/**
 * Makes a resolver that deletes, corrects and verifies customers at Stripe through your own client. Payments stay at
 * Stripe. Throws `BAD_OPTION` if the options are not valid.
 */
export function stripeResolver(
  stripe: StripeClient,
  options: StripeResolverOptions = {},
): RectifyingResolver & VerifyingResolver {
  const { name, categories, limits } = checked(stripe, options);

  const send = async <T>(
    operation: string,
    ref: SubjectRef,
    call: ResolverCall,
    request: (id: string, sending: StripeRequestOptions) => Promise<T>,
  ): Promise<(T & object) | "absent"> => {
    const id = idOf(ref);
    const sending = { maxNetworkRetries: 0, timeout: limits.timeoutMs, ...accountOf(ref) };
    const answer = await limitedCall(limits, call.signal, async () => {
      try {
        return await request(id, sending);
      } catch (thrown) {
        const trouble = stripeTrouble(thrown);
        if (trouble.kind === "absent") return "absent";
        throw stripeFailure(trouble, operation);
      }
    });
    if (answer === "absent") return "absent";
    if (typeof answer === "object" && answer !== null) return answer;
    throw new ResolverError("stripe-unfit-reply", `Stripe's client returned nothing for ${operation}.`);
  };

  /** The customer at Stripe; undefined if there is none or it is marked as deleted. */
  const find = async (ref: SubjectRef, call: ResolverCall): Promise<StripeCustomer | undefined> => {
    const found = await send("find", ref, call, (id, sending) => stripe.customers.retrieve(id, {}, sending));
    return found === "absent" || found.deleted === true ? undefined : found;
  };

  return {
    name,
    async eraseSubject(ref, call) {
      const gone = await send("delete", ref, call, (id, sending) =>
        stripe.customers.del(id, {}, { ...sending, idempotencyKey: call.key }),
      );
      if (gone === "absent") return { alreadyAbsent: true };
      if (gone.deleted === true) return {};
      throw new ResolverError(
        "stripe-unfit-reply",
        "Stripe answered without saying that the customer is deleted.",
      );
    },
    async rectifySubject(ref, corrections, call) {
      const wanted = wantedOf(corrections, categories);
      if (wanted.size === 0) return { alreadyConsistent: true };
      const customer = await find(ref, call);
      if (!customer || [...wanted].every(([field, value]) => fieldOf(customer, field) === value)) {
        return { alreadyConsistent: true };
      }
      const change = changeOf(customer, wanted);
      const updated = await send("update", ref, call, (id, sending) =>
        underItsKey(call, (idempotencyKey) =>
          stripe.customers.update(id, change, { ...sending, idempotencyKey }),
        ),
      );
      return updated === "absent" ? { alreadyConsistent: true } : {};
    },
    async verifyAbsent(ref, call) {
      return (await find(ref, call)) === undefined;
    },
  };
}

/**
 * Stripe stores the response to an idempotency key, its own failures included, and repeats it for a day. The update
 * is idempotent by itself, so it may be sent with another key if the first one can only fail.
 */
async function underItsKey<T>(call: ResolverCall, request: (key: string) => Promise<T>): Promise<T> {
  try {
    return await request(call.key);
  } catch (thrown) {
    if (!stripeTrouble(thrown).isKeySpent) throw thrown;
    return request(`${call.key}:${call.attempt}`);
  }
}

function wantedOf(
  corrections: readonly Correction[],
  categories: ReadonlyMap<string, StripeField>,
): ReadonlyMap<StripeField, string> {
  const wanted = new Map<StripeField, string>();
  for (const { category, value } of corrections) {
    const field = categories.get(category);
    if (field) wanted.set(field, String(value));
  }
  return wanted;
}

/** An empty id would address all customers, and dots another path. */
function idOf(ref: SubjectRef): string {
  if (typeof ref.value === "string" && !/^\.{0,2}$/.test(ref.value)) return ref.value;
  throw new ResolverError("stripe-bad-ref", "The ref's value is not the id of a customer.");
}

function accountOf(ref: SubjectRef): StripeRequestOptions {
  const stripeAccount = ref.extra?.["stripeAccount"];
  return stripeAccount === undefined ? {} : { stripeAccount };
}

function checked(
  stripe: StripeClient,
  options: StripeResolverOptions,
): { name: string; categories: ReadonlyMap<string, StripeField>; limits: CallLimits } {
  refuseUnknown(options, ["name", "categories", "timeout", "clock"], "stripeResolver");
  const missing = (["del", "retrieve", "update"] as const).find(
    (method) => typeof (stripe as Partial<StripeClient> | undefined)?.customers?.[method] !== "function",
  );
  if (missing) {
    throw new AmendsError(
      "BAD_OPTION",
      `stripeResolver needs a Stripe client: new Stripe(key). This one has no customers.${missing}.`,
    );
  }
  const categories = new Map(Object.entries(options.categories ?? CATEGORIES));
  for (const [category, field] of categories) {
    if (STRIPE_FIELDS.includes(field)) continue;
    throw new AmendsError(
      "BAD_OPTION",
      `stripeResolver: the category ${category} must be one of ${STRIPE_FIELDS.join(", ")}.`,
    );
  }
  const limits: CallLimits = {
    timeoutMs: positiveMs(options.timeout ?? "30s", "stripeResolver: timeout"),
    timeoutLabel: "stripe-timeout",
    ...(options.clock ? { clock: options.clock } : {}),
  };
  return { name: checkId(options.name ?? "stripe", "stripeResolver: the name", 255), categories, limits };
}
