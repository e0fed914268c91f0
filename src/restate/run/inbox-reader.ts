/** The inbox of a saga as the saga reads it, one place after the other. */
import type { Arrival } from "../../core/saga/steps/wait.ts";
import { answerPlace, inboxPlace, type Answer, type Order, type Sent } from "../inbox.ts";
import type { Durable, RunContext } from "../sdk.ts";

/** Something that was sent. Restate's own cancellation has no number: nobody waits for an answer. */
export interface Incoming {
  readonly number: number | undefined;
  readonly sent: Sent;
}

export class Inbox {
  readonly #context: RunContext;
  #arrivals: readonly Arrival[] = [];
  #read = 0;
  #next: Durable<Incoming> | undefined;
  #cancellation: Durable<Incoming> | undefined;

  constructor(context: RunContext) {
    this.#context = context;
    this.#cancellation = context.cancellation?.().map(() => ({ number: undefined, sent: CANCELLATION }));
  }

  /** The signals that were read. */
  get arrivals(): readonly Arrival[] {
    return this.#arrivals;
  }

  /** How many places were read. */
  get read(): number {
    return this.#read;
  }

  /** What comes next, from any side. */
  next(): readonly Durable<Incoming>[] {
    const number = this.#read + 1;
    this.#next ??= this.#context
      .promise<Sent>(inboxPlace(number))
      .get()
      .map((sent) => ({ number, sent: sent as Sent }));
    return this.#cancellation ? [this.#next, this.#cancellation] : [this.#next];
  }

  /** Takes what came. Returns it if it is an order. */
  take({ number, sent }: Incoming): Order | undefined {
    if (number === undefined) this.#cancellation = undefined;
    else {
      this.#read = number;
      this.#next = undefined;
    }
    if (sent.kind === "order") return sent;
    const { name, payload, atMs } = sent;
    this.#arrivals = [...this.#arrivals, { number: this.#read, name, payload, atMs }];
    return undefined;
  }

  answer(number: number, answer: Answer<number>): void {
    void this.#context.promise<Answer<number>>(answerPlace(number)).resolve(answer);
  }
}

const CANCELLATION: Order = {
  kind: "order",
  action: "cancel",
  note: { reason: "cancelled in Restate" },
};
