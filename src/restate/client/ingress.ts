/** Talks to Restate over HTTP: the ingress calls the handlers of sagas, the admin interface answers queries. */
import { AmendsError, type ErrorCode } from "../../core/errors.ts";
import type { Answer } from "../inbox.ts";

/** Where Restate is. */
export interface RestateAddress {
  /** The URL of Restate's ingress, such as `http://localhost:8080`. */
  readonly ingress: string;
  /** The URL of Restate's admin interface, such as `http://localhost:9070`. Only lists need it. */
  readonly admin?: string;
  /** Headers of every request, such as `authorization`. */
  readonly headers?: Readonly<Record<string, string>>;
}

export class Ingress {
  readonly #address: RestateAddress;

  constructor(address: RestateAddress) {
    this.#address = address;
  }

  /** Calls a handler of the workflow of a saga. What it refuses is thrown. */
  async ask<T>(name: string, id: string, handler: string, body?: unknown, signal?: AbortSignal): Promise<T> {
    const answer = (await this.call(name, id, handler, body, signal)) as Answer<T>;
    if (answer.ok) return answer.value;
    throw new AmendsError(answer.code as ErrorCode, answer.message, answer.details);
  }

  call(name: string, id: string, handler: string, body?: unknown, signal?: AbortSignal): Promise<unknown> {
    const path = [name, id, ...handler.split("/")].map(encodeURIComponent).join("/");
    return this.#post(`${this.#address.ingress}/${path}`, body, signal);
  }

  /** The rows of a query to the admin interface. */
  async query(query: string): Promise<readonly Readonly<Record<string, unknown>>[]> {
    const { admin } = this.#address;
    if (admin === undefined)
      throw new AmendsError(
        "NOT_CONFIGURED",
        "Lists of sagas in Restate need the URL of its admin interface: pass `admin`.",
      );
    const answer = (await this.#post(`${admin}/query`, { query })) as { rows?: Record<string, unknown>[] };
    return answer.rows ?? [];
  }

  async #post(url: string, body: unknown, signal?: AbortSignal): Promise<unknown> {
    const answer = await fetch(url, {
      method: "POST",
      headers: {
        accept: "application/json",
        ...(body !== undefined && { "content-type": "application/json" }),
        ...this.#address.headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      ...(signal && { signal }),
    });
    const text = await answer.text();
    if (answer.ok) return text === "" ? undefined : (JSON.parse(text) as unknown);
    const where = new URL(url).pathname;
    if (answer.status === 404)
      throw new AmendsError(
        "UNKNOWN_SAGA",
        `Restate knows no service for ${where}. Serve the saga with \`sagaWorkflows\`, and register the service in Restate.`,
        { status: 404 },
      );
    throw new Error(`Restate answered ${answer.status} to ${where}.`);
  }
}
