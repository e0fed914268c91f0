/** The client of the payment service: any provider can take part in a saga. */
import { Injectable } from "@nestjs/common";

@Injectable()
export class Payments {
  readonly #url = process.env.PAYMENTS_URL ?? "http://localhost:4000";

  /** False if the card is declined. The same key never charges twice. */
  async charge(cents: number, key: string, signal: AbortSignal): Promise<boolean> {
    const answer = await fetch(`${this.#url}/charges`, {
      method: "POST",
      headers: { "content-type": "application/json", "idempotency-key": key },
      body: JSON.stringify({ cents }),
      signal,
    });
    if (!answer.ok && answer.status !== 402)
      throw new Error(`The payment service answered ${answer.status}.`);
    return answer.ok;
  }
}
