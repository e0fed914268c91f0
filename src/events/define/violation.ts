/** Somebody broke what a handler or a saga promises: an event that was not declared, or one at the wrong time. */
import { Terminal } from "../../core/errors.ts";

/** An event came to a run that does not wait for it. */
export class SagaContractViolation extends Terminal {
  constructor(message: string, options?: ErrorOptions) {
    super("SagaContractViolation", message, options);
    this.name = "SagaContractViolation";
  }
}
