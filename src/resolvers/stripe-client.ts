/**
 * The part of the Stripe client that the resolver needs, as a structural type: every version with these methods
 * fits.
 */

export interface StripeRequestOptions {
  readonly idempotencyKey?: string;
  readonly maxNetworkRetries?: number;
  readonly timeout?: number;
  readonly stripeAccount?: string;
}

/** The address of a customer of Stripe, in the fields of Stripe. */
export interface StripeAddress {
  /** The first line: street and number. */
  readonly line1?: string | null;
  /** The second line. */
  readonly line2?: string | null;
  /** The city. */
  readonly city?: string | null;
  /** The state or province. */
  readonly state?: string | null;
  /** The postal code. */
  readonly postal_code?: string | null;
  /** The country, as two letters. */
  readonly country?: string | null;
}

/** A customer of Stripe, as far as the resolver reads it. */
export interface StripeCustomer {
  /** True if the customer was deleted. */
  readonly deleted?: unknown;
  /** The name. */
  readonly name?: string | null;
  /** The email address. */
  readonly email?: string | null;
  /** The phone number. */
  readonly phone?: string | null;
  /** The address. */
  readonly address?: StripeAddress | null;
}

export interface StripeCustomerChange {
  name?: string;
  email?: string;
  phone?: string;
  address?: { [part in keyof StripeAddress]?: string };
}

/** The part of the Stripe client that the resolver uses. An instance of the `stripe` package fits. */
export interface StripeClient {
  /** The methods to delete, read and update a customer. */
  readonly customers: {
    del(id: string, params: Record<string, never>, options: StripeRequestOptions): Promise<StripeCustomer>;
    retrieve(
      id: string,
      params: Record<string, never>,
      options: StripeRequestOptions,
    ): Promise<StripeCustomer>;
    update(id: string, params: StripeCustomerChange, options: StripeRequestOptions): Promise<unknown>;
  };
}

/** A field of a Stripe customer that a correction can write. */
export type StripeField = "name" | "email" | "phone" | `address.${keyof StripeAddress}`;

export const STRIPE_FIELDS: readonly StripeField[] = [
  "name",
  "email",
  "phone",
  "address.line1",
  "address.line2",
  "address.city",
  "address.state",
  "address.postal_code",
  "address.country",
];

/** The value of a customer's field; "" if it is empty. */
export function fieldOf(customer: StripeCustomer, field: StripeField): string {
  if (field === "name" || field === "email" || field === "phone") return customer[field] ?? "";
  return customer.address?.[field.slice("address.".length) as keyof StripeAddress] ?? "";
}

/** Stripe replaces an address as a whole, so the unchanged parts are sent too. */
export function changeOf(
  customer: StripeCustomer,
  wanted: ReadonlyMap<StripeField, string>,
): StripeCustomerChange {
  const change: StripeCustomerChange = {};
  for (const field of STRIPE_FIELDS) {
    const value = wanted.get(field);
    if (field === "name" || field === "email" || field === "phone") {
      if (value !== undefined) change[field] = value;
      continue;
    }
    if (![...wanted.keys()].some((one) => one.startsWith("address."))) continue;
    const part = field.slice("address.".length) as keyof StripeAddress;
    const kept = value ?? fieldOf(customer, field);
    if (kept !== "" || value !== undefined) change.address = { ...change.address, [part]: kept };
  }
  return change;
}
