/** Spans for what sagas do: their start, every act and every undo, each in the trace of its saga. */
import type { Middleware } from "../sagas/engine/call.ts";
import { newId } from "../runtime/identifiers.ts";
import { sagaTraceparent, type Tracer } from "../runtime/trace.ts";

/** The outermost middleware; undefined without a tracer. */
export function stepTracing(tracer: Tracer | undefined): readonly Middleware[] {
  if (!tracer) return [];
  const middleware: Middleware = ({ sagaId, saga, step, action, attempt }, next) =>
    tracer.run(
      () => ({
        name: `${action} ${saga}.${step}`,
        kind: "internal",
        labels: { "amends.saga": saga, "amends.step": step, "amends.action": action },
        attributes: { "amends.saga_id": sagaId, "amends.attempt": attempt },
        parent: sagaTraceparent(sagaId),
      }),
      next,
    );
  return [middleware];
}

/** The start is in the trace of its saga, and linked to whatever it is a part of: so its id must be known before. */
export function tracedStart<T>(
  tracer: Tracer | undefined,
  saga: string,
  given: string | undefined,
  start: (id: string | undefined) => Promise<T>,
): Promise<T> {
  if (!tracer) return start(given);
  const id = given ?? newId();
  return tracer.run(
    () => ({
      name: `start ${saga}`,
      kind: "producer",
      labels: { "amends.saga": saga },
      attributes: { "amends.saga_id": id },
      parent: sagaTraceparent(id),
    }),
    () => start(id),
  );
}
