/** How the shop's steps call the services outside: with the key of the act, and until they are told to stop. */
import type { Outside } from "../outside/outside.ts";

/** What went wrong there. Their names become the labels that Amends keeps. */
export class RefundsDown extends Error {}
export class ServiceDown extends Error {}

export interface CallOptions {
  readonly key: string;
  readonly signal: AbortSignal;
}

interface Answered {
  readonly status: number;
  readonly body: { readonly id?: string };
}

export class Services {
  readonly #url: Outside["url"];

  constructor(url: Outside["url"]) {
    this.#url = url;
  }

  async reserve(sku: string, call: CallOptions): Promise<{ id: string }> {
    const { body } = await this.#send("POST", "warehouse", call, { sku });
    return { id: body.id ?? "" };
  }

  async release(actKey: string, call: CallOptions): Promise<void> {
    await this.#send("DELETE", `warehouse/${encodeURIComponent(actKey)}`, call);
  }

  /** Undefined where the card was declined. */
  async charge(cents: number, call: CallOptions): Promise<{ id: string } | undefined> {
    const { status, body } = await this.#send("POST", "payments", call, { cents });
    return status === 402 ? undefined : { id: body.id ?? "" };
  }

  async refund(actKey: string, call: CallOptions): Promise<void> {
    await this.#send("DELETE", `payments/${encodeURIComponent(actKey)}`, call).catch((error: unknown) => {
      throw error instanceof ServiceDown ? new RefundsDown("no refunds at the moment") : error;
    });
  }

  /** Undefined where no courier goes. */
  async ship(address: string, call: CallOptions): Promise<{ id: string } | undefined> {
    const { status, body } = await this.#send("POST", "carrier", call, { address });
    return status === 422 ? undefined : { id: body.id ?? "" };
  }

  async confirm(orderId: string, call: CallOptions): Promise<void> {
    await this.#send("POST", "mailer", call, { orderId });
  }

  async #send(method: string, path: string, { key, signal }: CallOptions, body?: object): Promise<Answered> {
    const response = await fetch(`${this.#url}/${path}`, {
      method,
      headers: { "idempotency-key": key },
      signal,
      ...(body && { body: JSON.stringify(body) }),
    });
    if (response.status >= 500) throw new ServiceDown(`${path} does not work at the moment`);
    return { status: response.status, body: (await response.json()) as Answered["body"] };
  }
}
