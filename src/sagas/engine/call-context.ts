/**
 * What a step's code gets. Most of it is made only when it is read, because most steps read little. What the engine asks of a
 * call stands beside it as static functions, so that none of it is among what users see.
 */
import { actionOf } from "../../core/saga/interpreter.ts";
import { AmendsError } from "../../core/errors.ts";
import { sealOf } from "../../core/flow/sealed.ts";
import { checkName } from "../../core/identity.ts";
import { encodeJson } from "../../core/json.ts";
import { stateAt, type StepState } from "../../core/saga/state.ts";
import { partName } from "../../core/saga/part-name.ts";
import type { ListedItem } from "../../core/saga/steps/each.ts";
import { Call } from "../../runtime/call.ts";
import type { StopReason } from "../../runtime/stoppable.ts";
import type { EmittedEvent } from "../define/options/step.ts";
import type { Emission } from "../journal/journal.ts";
import { failureOf, RESOLVED, type SagaFailure } from "../view/outcome.ts";
import { callKey } from "./call-key.ts";
import { CallProgress } from "./progress/of-call.ts";
import type { Called, CallRequest, CallTools } from "./call.ts";

export const NO_EMISSIONS: readonly Emission[] = [];

export class CallContext {
  readonly input: unknown;
  readonly attempt: number;
  readonly tx: unknown;
  readonly #tools: CallTools;
  readonly #request: CallRequest;
  #emissions: readonly Emission[] = NO_EMISSIONS;
  /** Made when it is needed: most calls have no time limit, read no signal and are not stopped. */
  #call: Call<Called | undefined> | undefined;
  #results: Readonly<Record<string, unknown>> | undefined;
  #progress: CallProgress | undefined;

  constructor(tools: CallTools, request: CallRequest) {
    const { run, command, step, tx } = request;
    this.#tools = tools;
    this.#request = request;
    this.input = isCopied(step) ? structuredClone(run.input) : run.input;
    this.attempt = command.attempt;
    this.tx = tx;
    if (request.stopReason !== undefined) CallContext.callOf(this);
  }

  get results(): Readonly<Record<string, unknown>> {
    const { step, results } = this.#request;
    return (this.#results ??= isCopied(step) ? structuredClone(results) : results);
  }

  get sagaId(): string {
    return this.#request.run.keyId;
  }

  /** Of a step with a list: the item that the call is for. */
  get item(): unknown {
    return this.#item?.value;
  }

  get itemKey(): string | undefined {
    return this.#item?.key;
  }

  get #item(): ListedItem | undefined {
    const { run, command } = this.#request;
    return command.item === undefined ? undefined : run.state.steps[command.index]?.items?.list[command.item];
  }

  /** Of a step in rounds: the round that the call is for. */
  get round(): number | undefined {
    const { command } = this.#request;
    return command.kind === "act" ? command.round : undefined;
  }

  /** Of a step in rounds: how many have begun. */
  get rounds(): number | undefined {
    return this.#step.round;
  }

  get action(): "act" | "compensate" {
    return actionOf(this.#request.command);
  }

  get key(): string {
    return this.#keyOf(this.#part, this.action);
  }

  /** Of a step in rounds there is one for each round. */
  get actKey(): string | ((round: number) => string) {
    const { step } = this.#request;
    if (step.planned.repeat) return (round) => this.#keyOf(partName(step.name, round), "act");
    return this.#keyOf(this.#part, "act");
  }

  /** The name of the step, with the key of the item: numbers of items are for the log. */
  get #part(): string {
    const { step, command } = this.#request;
    const { itemKey } = this;
    return itemKey === undefined ? command.step : `${step.name}[${itemKey}]`;
  }

  #keyOf(part: string, action: "act" | "compensate"): string {
    return callKey(this.sagaId, this.#request.step.name, part, action);
  }

  /** Of what follows a failure: why the saga failed, and at which step. */
  get failure(): SagaFailure | undefined {
    return failureOf(this.#request.run.state.failure) ?? RESOLVED;
  }

  get step(): string | undefined {
    return this.#request.run.state.failure?.step;
  }

  get signal(): AbortSignal {
    return CallContext.callOf(this).signal;
  }

  get result(): unknown {
    const { planned } = this.#request.step;
    return planned.repeat ? this.#step.last : this.#step.result;
  }

  get #step(): StepState {
    const { run, command } = this.#request;
    return stateAt(run.state, command.index, command.item);
  }

  get emit(): (event: EmittedEvent) => void {
    return (event) => {
      if (!this.#tools.journal.keepsEvents) {
        throw new AmendsError(
          "NOT_SUPPORTED",
          "A custom `storage` cannot keep the events that a step emits.",
        );
      }
      this.#emissions = [...this.#emissions, emissionOf(event, () => this.#tools.newId())];
    };
  }

  get progress(): (value: unknown) => void {
    const progress = this.#progressed;
    return (value) => progress.report(value);
  }

  get lastProgress(): unknown {
    return this.#progressed.last;
  }

  get #progressed(): CallProgress {
    return (this.#progress ??= new CallProgress(this.#tools, this.#request));
  }

  static callOf(context: CallContext): Call<Called | undefined> {
    return (context.#call ??= new Call(context.#request.stopReason));
  }

  static stopReasonOf(context: CallContext): StopReason | undefined {
    return context.#call?.stopReason;
  }

  static emissionsOf(context: CallContext): readonly Emission[] {
    return context.#emissions;
  }
}

/** Whatever an act does to what it gets, its fallback must see nothing of it. */
function isCopied({ fallback }: CallRequest["step"]): boolean {
  return fallback !== undefined;
}

/** An event that `event(…)` made has an id and a version of its own. */
function emissionOf(event: EmittedEvent, newId: () => string): Emission {
  const seal = sealOf(event);
  if (seal) return { entryId: seal.id, type: seal.type, payload: seal.payload, version: seal.version };
  const type = checkName(event.type, "An event's type");
  const payload = encodeJson(event.data, { field: `The data of event ${type}` });
  return { entryId: newId(), type, payload, version: 1 };
}
