/**
 * Compile-time checks of a saga over events: each step handles the success event of the step before it, and every
 * event has the field by which the saga correlates. A mismatch becomes a text in the type, which the compiler shows
 * in its error. Registration repeats the checks for JavaScript.
 */
import type { AnyEvent, DataOf, NameOf } from "./event.ts";
import type { AnyHandler } from "./handler.ts";

/** The part of a step that the checks use. */
export interface StepShape {
  readonly name: string;
  readonly handler: AnyHandler;
  readonly compensation: AnyEvent | undefined;
}

/** The fields by which a saga may correlate: those of its trigger. */
export type FieldOf<Trigger extends AnyEvent> = keyof DataOf<Trigger> & string;

/** The type of the id of a run: that of the correlation field. */
export type IdOf<Trigger extends AnyEvent, Field extends string> = Field extends keyof DataOf<Trigger>
  ? DataOf<Trigger>[Field]
  : never;

/** The given steps, with a text in place of each step that does not fit. */
export type Checked<
  Trigger extends AnyEvent,
  Field extends string,
  Steps extends readonly StepShape[],
> = CheckedFrom<NameOf<Trigger>, "the trigger", Field, IdOf<Trigger, Field>, Steps>;

type CheckedFrom<
  Given extends string,
  By extends string,
  Field extends string,
  Id,
  Steps extends readonly StepShape[],
> = Steps extends readonly [infer Step extends StepShape, ...infer Rest extends readonly StepShape[]]
  ? readonly [
      Fitting<Step, Problem<Given, By, Field, Id, Step>>,
      ...CheckedFrom<NameOf<Step["handler"]["ok"]>, `step ${Step["name"]}`, Field, Id, Rest>,
    ]
  : readonly [];

type Fitting<Step, Trouble> = [Trouble] extends [never] ? Step : Trouble;

type Problem<Given extends string, By extends string, Field extends string, Id, Step extends StepShape> =
  Given extends NameOf<Step["handler"]["on"]>
    ?
        | Uncorrelated<Step["handler"]["ok"], Field, Id>
        | Uncorrelated<Step["handler"]["err"], Field, Id>
        | BadCommand<Step, Field, Id>
    : `step ${Step["name"]} takes ${NameOf<Step["handler"]["on"]>}, but ${By} gives ${Given}`;

type Uncorrelated<E extends AnyEvent, Field extends string, Id> = Field extends keyof DataOf<E>
  ? [DataOf<E>[Field]] extends [Id]
    ? never
    : `the field ${Field} of ${NameOf<E>} is of another type than that of the trigger`
  : `${NameOf<E>} has no field ${Field}, by which this saga correlates`;

type BadCommand<Step extends StepShape, Field extends string, Id> = Step["compensation"] extends AnyEvent
  ? Uncorrelated<Step["compensation"], Field, Id>
  : never;
