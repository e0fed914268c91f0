/**
 * Compile-time checks of a saga over events: the first step handles the trigger, each other one events that earlier steps
 * give; each answer is taken by a later step or ends the run; and every event has the field by which the saga correlates.
 * A mismatch becomes a text in the type, which the compiler shows in its error. The definition repeats the checks for
 * JavaScript (chain-check.ts).
 */
import type { AnyEvent, DataOf, NameOf } from "./event.ts";
import type { AnyHandler } from "./handler.ts";
import type { GivesOf, TakesOf } from "./several.ts";

/** The part of a step that the checks use. */
export interface StepShape {
  readonly name: string;
  readonly handler: AnyHandler;
  readonly compensation: AnyEvent | undefined;
  readonly ends: readonly AnyEvent[];
}

/** The fields by which a saga may correlate: those of its trigger. */
export type FieldOf<Trigger extends AnyEvent> = keyof DataOf<Trigger> & string;

/** The type of the id of a run: that of the correlation field. */
export type IdOf<Trigger extends AnyEvent, Field extends string> = Field extends keyof DataOf<Trigger>
  ? DataOf<Trigger>[Field]
  : never;

/** The names of the events that a step waits for. */
type TakenBy<Step extends StepShape> = NameOf<TakesOf<Step["handler"]["on"]>>;
/** The names of the events of which a step gives one. */
type GivenBy<Step extends StepShape> = NameOf<GivesOf<Step["handler"]["ok"]>>;

/** The given steps, with a text in place of each step that does not fit. */
export type Checked<
  Trigger extends AnyEvent,
  Field extends string,
  Steps extends readonly StepShape[],
> = CheckedFrom<
  NameOf<Trigger>,
  NameOf<Trigger>,
  "the trigger",
  Field,
  IdOf<Trigger, Field>,
  [Unfit<NameOf<Trigger>, Steps>] extends [never] ? true : false,
  Steps
>;

/** `Before`: what a step may take. `Given`: what the one before it, `By`, gives. */
type CheckedFrom<
  Before extends string,
  Given extends string,
  By extends string,
  Field extends string,
  Id,
  AllFit extends boolean,
  Steps extends readonly StepShape[],
> = Steps extends readonly [infer Step extends StepShape, ...infer Rest extends readonly StepShape[]]
  ? readonly [
      Fitting<
        Step,
        | Untaken<AllFit, Step, Rest>
        | Problem<Missing<Before, Step>, Given, By, Step>
        | Uncorrelated<GivesOf<Step["handler"]["ok"]>, Field, Id>
        | Uncorrelated<Step["handler"]["err"], Field, Id>
        | BadCommand<Step, Field, Id>
      >,
      ...CheckedFrom<
        By extends "the trigger" ? GivenBy<Step> : Before | GivenBy<Step>,
        GivenBy<Step>,
        `step ${Step["name"]}`,
        Field,
        Id,
        AllFit,
        Rest
      >,
    ]
  : readonly [];

type Fitting<Step, Trouble> = [Trouble] extends [never] ? Step : Trouble;

/** The events that a step takes and that nothing before it gives. */
type Missing<Before extends string, Step extends StepShape> =
  string extends TakenBy<Step> ? never : string extends Before ? never : Exclude<TakenBy<Step>, Before>;

type Problem<Names extends string, Given extends string, By extends string, Step extends StepShape> = [
  Names,
] extends [never]
  ? never
  : TakenBy<Step> extends Names
    ? `step ${Step["name"]} takes ${Names}, but ${By} gives ${Given}`
    : `step ${Step["name"]} waits for ${Names}, which no step before it gives`;

/** The names of all events that some step takes and nothing before it gives. */
type Unfit<
  Before extends string,
  Steps extends readonly StepShape[],
  IsFirst extends boolean = true,
> = Steps extends readonly [infer Step extends StepShape, ...infer Rest extends readonly StepShape[]]
  ? Missing<Before, Step> | Unfit<IsFirst extends true ? GivenBy<Step> : Before | GivenBy<Step>, Rest, false>
  : never;

/** Where all steps fit, the answers that no later step takes; those of the last step end the run. */
type Untaken<
  AllFit extends boolean,
  Step extends StepShape,
  Rest extends readonly StepShape[],
> = AllFit extends true
  ? Rest extends readonly [StepShape, ...StepShape[]]
    ? NoTaker<Exclude<GivenBy<Step>, TakenBy<Rest[number]> | NameOf<Step["ends"][number]>>, Step>
    : never
  : never;

type NoTaker<Name extends string, Step extends StepShape> = string extends Name
  ? never
  : Name extends Name
    ? `no later step takes ${Name}, which step ${Step["name"]} gives: add a step, or name it in \`ends\``
    : never;

type Uncorrelated<E extends AnyEvent, Field extends string, Id> = E extends AnyEvent
  ? Field extends keyof DataOf<E>
    ? [DataOf<E>[Field]] extends [Id]
      ? never
      : `the field ${Field} of ${NameOf<E>} is of another type than that of the trigger`
    : `${NameOf<E>} has no field ${Field}, by which this saga correlates`
  : never;

type BadCommand<Step extends StepShape, Field extends string, Id> = Step["compensation"] extends AnyEvent
  ? Uncorrelated<Step["compensation"], Field, Id>
  : never;
