/** Sagas over events that turn back: by a handler's answer, by its tries, by time; and what people do where undoing fails. */
import { Terminal } from "amends";
import { dealWith, journey, untilTurned } from "../flows.ts";
import type { Play, Scenario, Stage } from "../scenario.ts";
import { untilStopped, type World } from "../world.ts";

/** A busy machine begins the step well before it. */
const DEADLINE_MS = 1_500;

const no = (): boolean => false;
const broken = (): never => {
  throw new Error("it never works");
};

const refused: Scenario = {
  name: "flow-refused",
  title:
    "[F-10][F-11] a step that answers with err turns its run back: every step before it is undone, last one first",
  flowEnds: ["failed"],
  play: (world) => journey(world, { wills: { ship: no } }),
};

const exhausted: Scenario = {
  name: "flow-exhausted",
  title:
    "[F-12][K-07] a handler that has used up its tries is a failed step, and is undone before the others",
  flowEnds: ["failed"],
  play: (world) => journey(world, { wills: { ship: broken }, shipRetry: { attempts: 2, base: 20 } }),
};

const overdue: Scenario = {
  name: "flow-overdue",
  isTimed: true,
  title: "[F-16] a run whose step waits past its deadline is turned back by the reaper, once",
  flowEnds: ["failed"],
  play: (world) =>
    journey(world, {
      wills: { ship: broken },
      shipRetry: { attempts: 9, base: 600_000 },
      shipDeadline: DEADLINE_MS,
    }),
};

const timedOut: Scenario = {
  name: "flow-timed-out",
  isTimed: true,
  title: "[F-16][K-08] a handler that is told to stop at its deadline has failed, and is undone",
  flowEnds: ["failed"],
  play: (world) =>
    journey(world, {
      wills: { ship: ({ signal }) => untilStopped(signal) },
      shipDeadline: DEADLINE_MS,
      // No reaper comes before the handler's own end.
      poll: 3_600_000,
    }),
};

const late: Scenario = {
  name: "flow-late",
  isTimed: true,
  title:
    "[F-13][F-16] a success that comes after another process has turned the run back is undone before the others",
  flowEnds: ["failed"],
  play(world) {
    let stage: Stage | undefined;
    const play = journey(world, {
      wills: {
        async ship({ signal }) {
          // The signal says that the time is up; this service does not care and goes on.
          await untilStopped(signal).catch(() => undefined);
          const other = stage?.another();
          await untilTurned(world, async () => void (await other?.worker().runOnce()));
          return true;
        },
      },
      shipDeadline: DEADLINE_MS,
      poll: 3_600_000,
    });
    return { ...play, run: (given: Stage) => ((stage = given), play.run(given)) };
  },
};

const note = { reason: "it was repaired", by: "operator" };

function stalling(world: World, deal: "retry" | "resolve"): Play {
  return journey(world, {
    wills: { ship: no, uncharge: () => world.mended },
    operate: dealWith(async (amends, id) => {
      if (deal === "retry") world.mend();
      await amends.events[deal](id, note);
    }),
  });
}

const retriedByHand: Scenario = {
  name: "flow-stalled-retried",
  title:
    "[F-11][P-02] a run whose undo failed is stalled; retried by a person, it undoes the rest and has failed",
  flowEnds: ["failed"],
  play: (world) => stalling(world, "retry"),
};

const resolvedByHand: Scenario = {
  name: "flow-stalled-resolved",
  title: "[F-11][P-02] a run whose undo a person has done by hand undoes the rest and has failed",
  flowEnds: ["failed"],
  play: (world) => stalling(world, "resolve"),
};

const givenUp: Scenario = {
  name: "flow-given-up",
  title: "[F-12][P-02] an event whose handler used up its tries waits for a person, and is then handled once",
  flowEnds: ["completed"],
  play: (world) =>
    journey(world, {
      wills: {
        tell: () => {
          if (!world.mended) throw new Terminal("closed");
          return true;
        },
      },
      operate: dealWith(async (amends, id) => {
        world.mend();
        await amends.events.retry(id, note);
      }),
    }),
};

export const flowBackward: readonly Scenario[] = [
  refused,
  exhausted,
  overdue,
  timedOut,
  late,
  retriedByHand,
  resolvedByHand,
  givenUp,
];
