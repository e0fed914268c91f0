/** A handler or a saga broke its contract: an undeclared event, or one at the wrong time. */
import { Terminal } from "../../core/errors.ts";

/**
 * Thrown when a handler or a saga breaks its declaration, such as with an event that was not declared. It is permanent.
 */
export class SagaContractViolation extends Terminal {
  constructor(message: string, options?: ErrorOptions) {
    super("SagaContractViolation", message, options);
    this.name = "SagaContractViolation";
  }
}
