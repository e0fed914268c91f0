/**
 * What a step's code gets. Most of it is made only when it is read, because most steps read little. What the engine asks of a
 * call stands beside it as static functions, so that none of it is among what users see.
 */
import { actionOf } from "../../core/saga/interpreter.ts";
import { AmendsError } from "../../core/errors.ts";
import { sealOf } from "../../core/flow/sealed.ts";
import { checkName, idempotencyKey } from "../../core/identity.ts";
import { encodeJson } from "../../core/json.ts";
import type { StepState } from "../../core/saga/state.ts";
import { Call } from "../../runtime/call.ts";
import type { StopReason } from "../../runtime/stoppable.ts";
import type { EmittedEvent } from "../define/definition.ts";
import type { Emission } from "../journal/journal.ts";
import type { CallRequest, CallTools } from "./call.ts";

export const NO_EMISSIONS: readonly Emission[] = [];

export class CallContext {
  readonly input: unknown;
  readonly attempt: number;
  readonly tx: unknown;
  readonly #tools: CallTools;
  readonly #request: CallRequest;
  #emissions: readonly Emission[] = NO_EMISSIONS;
  readonly #call: Call;
  #results: Readonly<Record<string, unknown>> | undefined;

  constructor(tools: CallTools, request: CallRequest) {
    const { run, command, step, stopReason, tx } = request;
    this.#tools = tools;
    this.#request = request;
    this.input = isCopied(step) ? structuredClone(run.input) : run.input;
    this.attempt = command.attempt;
    this.tx = tx;
    this.#call = new Call(stopReason);
  }

  get results(): Readonly<Record<string, unknown>> {
    const { step, results } = this.#request;
    return (this.#results ??= isCopied(step) ? structuredClone(results) : results);
  }

  get sagaId(): string {
    return this.#request.run.id;
  }

  get action(): "act" | "compensate" {
    return actionOf(this.#request.command);
  }

  get key(): string {
    return idempotencyKey(this.sagaId, this.#request.command.step, this.action);
  }

  get actKey(): string {
    return idempotencyKey(this.sagaId, this.#request.command.step, "act");
  }

  get signal(): AbortSignal {
    return CallContext.callOf(this).signal;
  }

  get result(): unknown {
    const { run, command } = this.#request;
    return (run.state.steps[command.index] as StepState).result;
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

  static callOf(context: CallContext): Call {
    return context.#call;
  }

  static stopReasonOf(context: CallContext): StopReason | undefined {
    return context.#call.stopReason;
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
