/** Reads a step that acts in rounds, and what a round says when it is over. */
import { positiveMs, type Duration } from "../../../core/duration.ts";
import { AmendsError } from "../../../core/errors.ts";
import { encodeJson } from "../../../core/json.ts";
import { isErr, isOk } from "../../../core/result.ts";
import { roundDetails, type Repeat } from "../../../core/saga/steps/repeat.ts";
import type { OnMax } from "../options/repeat.ts";
import { andThen, recorded, unfit } from "../own-outcome.ts";
import { whole } from "../saga-options.ts";
import { readStep, type Place, type StepDefinition } from "../settings.ts";
import { readTarget } from "./wait.ts";

/** The log of a saga is only ever added to: this bounds it. */
const ROUNDS_MAX = 1_000;

interface Given {
  readonly until?: unknown;
  readonly every?: Duration;
  readonly max?: number;
  readonly delay?: Duration;
  readonly onMax?: OnMax;
}

type Until = (context: object) => unknown;

export function readRepeat(place: Place, name: string, options: unknown): StepDefinition {
  const { until, every, max, delay, onMax, ...calls } = (options ?? {}) as Given;
  const step = readStep(place.saga, place.settings, place.before, name, calls, false);
  const where = `Saga ${place.saga}, step ${name}`;
  const bad = (why: string): never => {
    throw new AmendsError("BAD_DEFINITION", `${where}: ${why}.`, { saga: place.saga, step: name });
  };
  if (every === undefined) return bad("`every` must say how long to wait between two rounds");
  if (max === undefined || whole(max, 1, `${where}: max`) > ROUNDS_MAX)
    return bad(`\`max\` must say how many rounds there are at most, 1 to ${ROUNDS_MAX}`);
  if (onMax !== undefined && onMax !== "continue" && onMax !== "fail")
    return bad('`onMax` is "continue" or "fail"');
  if (onMax === "fail" && place.before.some(({ planned }) => planned.pivot))
    return bad('after the pivot a saga only goes forward, so `onMax` cannot be "fail"');
  if (step.transaction) bad("a step in rounds cannot be transactional");
  if (step.deadlineMs !== undefined) bad("a step in rounds has no deadline of its own");
  const target =
    typeof until === "object" && until !== null ? readTarget(until, where, "`until`", bad) : undefined;
  if (!target && typeof until !== "function")
    return bad("`until` must be a function, or name a signal or an event");
  const repeat: Repeat = {
    max,
    everyMs: positiveMs(every, `${where}: every`),
    ...(delay !== undefined && { delayMs: positiveMs(delay, `${where}: delay`) }),
    ...(target && { until: target.wait }),
    ...(onMax === "fail" && { failsAtMax: true }),
  };
  const act = step.act as (context: unknown) => unknown;
  const ask = target ? undefined : (until as Until);
  return {
    ...step,
    planned: { ...step.planned, repeat },
    act: (context: never) => andThen(act(context), (returned) => roundOver(context, returned, ask, name)),
    ...(target?.interest && { interests: [target.interest] }),
    ...(target?.signal && { signals: [target.signal] }),
  };
}

function roundOver(context: object, returned: unknown, ask: Until | undefined, step: string): unknown {
  if (isErr(returned)) return returned;
  let json: string | null;
  try {
    json = encodeJson(isOk(returned) ? returned.value : returned, {
      field: `The result of step ${step}`,
      allowNul: true,
    });
  } catch {
    return unfit("ResultNotJson");
  }
  if (!ask) return recorded(roundDetails(json, false));
  const { sagaId, input, results, round } = context as Record<string, unknown>;
  const result = json === null ? undefined : (JSON.parse(json) as unknown);
  return andThen(ask({ sagaId, input, results, round, result }), (isLast) =>
    typeof isLast === "boolean" ? recorded(roundDetails(json, isLast)) : unfit("AnswerNotBoolean"),
  );
}
