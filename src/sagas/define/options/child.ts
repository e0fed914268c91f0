/** What may be said of a step that runs another saga, as the compiler sees it. */
import type { SagaDefinition } from "../definition.ts";
import type { ListContext } from "./each.ts";

/** The options of a step that runs another saga, its child. */
export interface ChildOptions<Input, Results, ChildInput> {
  /** Returns the input of the child. It goes through the schema of the child. */
  input(context: ListContext<Input, Results>): ChildInput | Promise<ChildInput>;
  /** Returns the id of the child. Default: the id of the saga, a colon and the name of the step. */
  id?(context: ListContext<Input, Results>): string;
}

/** What a child saga is worth to later steps. */
export interface ChildResult<Results> {
  /** The id of the child. */
  readonly id: string;
  /** The results of its steps, by step name. */
  readonly results: Results;
}

/** Before its pivot a saga may turn back, and takes its children back: so none of them has a pivot of its own. */
export type Reversible<Child> = Child extends { pivot(...options: never): unknown }
  ? unknown
  : {
      readonly error: "A child saga with a pivot cannot be taken back: put it behind the pivot of this saga, or take its pivot out.";
    };

/** Any saga that can be a child. */
export type AnyChild<Input, Results, Failure> = SagaDefinition<Input, unknown, Results, Failure>;
