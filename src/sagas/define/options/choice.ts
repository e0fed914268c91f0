/** What a choice is worth to later steps, as the compiler sees it. */
import type { ListContext } from "./each.ts";

/** What a choice is made from. */
export interface ChoiceContext<Input, Results> extends ListContext<Input, Results> {}

/** The results after a choice: those of its branches may be missing. */
export type Chosen<Results, Name extends string, Then, Else> = {
  readonly [K in keyof Results | Name | keyof Then | keyof Else]: K extends keyof Results
    ? Results[K]
    : K extends Name
      ? boolean
      : (K extends keyof Then ? Then[K] : never) | (K extends keyof Else ? Else[K] : never) | undefined;
};

/** The results that the steps of the other branch see: they have the names of the first branch, and never a value. */
export type Otherwise<Results, Name extends string, Then> = {
  readonly [K in keyof Results | Name | keyof Then]: K extends keyof Results
    ? Results[K]
    : K extends Name
      ? boolean
      : undefined;
};
