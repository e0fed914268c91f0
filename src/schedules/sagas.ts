/** What schedules ask of the sagas: to check an input, and to write sagas in the transaction of their ticks. */
import type { AnySaga } from "../sagas/define/definition.ts";
import type { AnyReference } from "../sagas/define/reference.ts";
import type { Kind, NewSaga } from "../sagas/journal/journal.ts";
import type { Session } from "../storage/database.ts";

export interface ScheduledSagas {
  /** The sagas that this process can run. */
  readonly kinds: () => readonly Kind[];
  /** The saga that a start would create, with its input through the schema. Nothing is written. */
  prepare(saga: AnySaga | AnyReference, input: unknown, id: string): NewSaga | Promise<NewSaga>;
  /** The same with an input that was checked before; undefined if this process cannot run the saga. */
  prepareKnown(kind: Kind, input: string, id: string): NewSaga | undefined;
  /** Writes them. An id that exists is left as it is. */
  create(session: Session, sagas: readonly NewSaga[]): Promise<unknown>;
  /** So many were written and committed: they are due. */
  created(count: number): void;
}
