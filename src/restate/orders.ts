/** What an operator's order means for a saga in its present state: the same checks as on a database. */
import { AmendsError } from "../core/errors.ts";
import type { Entry } from "../core/saga/entry.ts";
import type { SagaRecord } from "../sagas/journal/journal.ts";
import { Operators, type OperatedEngine } from "../sagas/view/operators.ts";
import type { Answer, Order } from "./inbox.ts";

export interface Decided {
  /** The line that it adds; undefined if it changes nothing or is refused. */
  readonly entry: Entry | undefined;
  /** Whether the calls under way have become pointless. */
  readonly isPointless: boolean;
  /** The revision of the saga that the order found. */
  readonly answer: Answer<number>;
}

/** `after`: the saga with one more line. */
export async function decideOrder(
  record: SagaRecord,
  order: Order,
  after: (entry: Entry) => SagaRecord,
): Promise<Decided> {
  let entry: Entry | undefined;
  let isPointless = false;
  const engine: OperatedEngine = {
    interrupt: () => (isPointless = true),
    noteChange: () => undefined,
    dueIn: () => undefined,
    ends: { tell: () => undefined },
    sagaEvents: { publish: () => undefined },
  };
  const journal: ConstructorParameters<typeof Operators>[0] = {
    family: undefined,
    appendByOperator: async (_, decide) => {
      entry = decide(record)?.entry;
      return entry ? after(entry) : record;
    },
  };
  try {
    await give(new Operators(journal, engine, () => undefined), record.id, order);
    return { entry, isPointless, answer: { ok: true, value: record.version } };
  } catch (error) {
    return { entry: undefined, isPointless: false, answer: refusalOf(error) };
  }
}

function give(operators: Operators, id: string, { action, note, step, as }: Order): Promise<unknown> {
  switch (action) {
    case "cancel":
      return operators.cancel(id, note);
    case "retry":
      return operators.retry(id, note);
    case "skip":
      return operators.skip(id, step ?? "", note);
    default:
      return operators.resolve(id, as as "COMPLETED" | "FAILED", note);
  }
}

/** A refused call as data. Anything else is a bug and is thrown. */
export function refusalOf(error: unknown): Answer<never> {
  if (!(error instanceof AmendsError)) throw error;
  const { code, message, details } = error;
  return { ok: false, code, message, details };
}
