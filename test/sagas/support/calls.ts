/** Which calls were made, in their order. */
import type { Middleware } from "amends";

export interface Calls {
  /** `act charge`, `undo charge`. */
  readonly made: string[];
  readonly middleware: readonly Middleware[];
}

export function calls(): Calls {
  const made: string[] = [];
  const note: Middleware = ({ step, action }, next) => {
    made.push(`${action === "act" ? "act" : "undo"} ${step}`);
    return next();
  };
  return { made, middleware: [note] };
}
