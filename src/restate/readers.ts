/** The handlers by which others look at a saga, wait for it, and send something to it. They run beside the saga, in any process. */
import { AmendsError } from "../core/errors.ts";
import { sagaMachine } from "../core/saga/machine.ts";
import type { SagaRecord } from "../sagas/journal/journal.ts";
import { outcomeOf, type SagaOutcome } from "../sagas/view/outcome.ts";
import { answerPlace, post, type Answer, type Order, type SentSignal } from "./inbox.ts";
import { decideOrder, refusalOf } from "./orders.ts";
import type { Race, SharedContext } from "./sdk.ts";
import {
  BEGUN,
  ENDED,
  outcomePlace,
  readStored,
  SAGA_KEY,
  STORED,
  type StartOrder,
  type StoredSaga,
} from "./stored-saga.ts";

/** A signal as a caller sends it: the saga's inbox adds when. */
export type NewSignal = Omit<SentSignal, "kind" | "atMs">;

export interface Readers {
  /** What the saga was started with. Waits until it has begun. */
  begun(context: SharedContext): Promise<StartOrder>;
  look(context: SharedContext): Promise<Answer<StoredSaga>>;
  /** Waits until the saga has ended or stalled. */
  outcome(context: SharedContext): Promise<Answer<SagaOutcome>>;
  /** True if the signal was sent now, false if it had been sent before. */
  signal(context: SharedContext, signal: NewSignal): Promise<Answer<boolean>>;
  order(context: SharedContext, order: Order): Promise<Answer<number>>;
}

/** A saga that was started may not have begun yet: for so long it counts as existing. */
const BEGINS_WITHIN_MS = 5_000;

export function readers(name: string, race: Race): Readers {
  /** Undefined if there is no such saga. */
  const find = async (context: SharedContext): Promise<StoredSaga | undefined> => {
    const stored = context.promise<boolean>(STORED);
    if ((await stored.peek()) === undefined) {
      const exists = await race([
        stored.get().map(() => true),
        context.sleep(BEGINS_WITHIN_MS).map(() => false),
      ]);
      if (!exists) return undefined;
    }
    return (await context.get<StoredSaga>(SAGA_KEY)) ?? undefined;
  };
  const read = ({ key }: SharedContext, stored: StoredSaga): SagaRecord => readStored(key, name, stored);
  return {
    begun: async (context) => context.promise<StartOrder>(BEGUN).get(),
    async look(context) {
      const stored = await find(context);
      return stored ? { ok: true, value: stored } : notFound(context);
    },
    async outcome(context) {
      await context.promise<boolean>(STORED).get();
      const stored = (await context.get<StoredSaga>(SAGA_KEY)) as StoredSaga;
      const known = outcomeOf(context.key, read(context, stored).state);
      if (known) return { ok: true, value: known };
      const place = outcomePlace(stored.stalls);
      return { ok: true, value: await context.promise<SagaOutcome>(place).get() };
    },
    async signal(context, signal) {
      const stored = await find(context);
      if (!stored) return notFound(context);
      const { status } = read(context, stored).state;
      const number = await post(context, { ...signal, kind: "signal", atMs: await context.date.now() }, 0);
      if (number !== undefined && sagaMachine.isTerminal(status)) return ended(context, signal, status);
      return { ok: true, value: number !== undefined };
    },
    async order(context, order) {
      const stored = await find(context);
      if (!stored) return notFound(context);
      const number = (await post(context, order, stored.read)) as number;
      const answer = context.promise<Answer<number>>(answerPlace(number)).get();
      const answered = await race([
        answer.map((given) => given),
        context
          .promise<boolean>(ENDED)
          .get()
          .map(() => undefined),
      ]);
      if (answered) return answered;
      // The saga has ended without reading its inbox: what is refused of an ended saga is refused.
      const last = read(context, (await context.get<StoredSaga>(SAGA_KEY)) as StoredSaga);
      return (await decideOrder(last, order, () => last)).answer;
    },
  };
}

function notFound({ key }: SharedContext): Answer<never> {
  return refusalOf(
    new AmendsError("SAGA_NOT_FOUND", "There is no saga with this id, or it has not begun.", { id: key }),
  );
}

function ended({ key }: SharedContext, { name }: NewSignal, status: string): Answer<never> {
  const message = `The saga is ${status}: nothing waits for signal ${name} any more.`;
  return refusalOf(new AmendsError("SAGA_ENDED", message, { id: key, status }));
}
