/** Tests of the tests: bugs that the outbox could have are put in on purpose, and must be found. */
import { expect, it } from "vitest";
import {
  brokenBuild,
  COMPLETED_TOO_EARLY,
  ENTRY_WITHOUT_TOKEN,
  TOLD_AFTER_THE_COMMIT,
  type Patch,
} from "./broken.ts";
import { crashEverywhere, type HarnessOptions } from "./harness.ts";
import { scenarioOf } from "./scenarios/all.ts";
import { onEachYard } from "./yard.ts";

interface Bug {
  readonly what: string;
  readonly patches: readonly Patch[];
  readonly scenario: string;
  readonly signal: HarnessOptions["signal"];
  /** The points that show it. */
  readonly at: RegExp;
  readonly found: RegExp;
  /** Nothing shows it unless somebody dies or sleeps. */
  readonly isHidden: boolean;
}

const bugs: readonly Bug[] = [
  {
    what: "[K-06] the harness finds it when a settle forgets its token",
    patches: ENTRY_WITHOUT_TOKEN,
    scenario: "overtaken",
    signal: "SIGSTOP",
    at: /^erase/,
    found: /erase stripe 1 after: I3: entry .* was changed although token 2 held it/,
    isHidden: true,
  },
  {
    what: "[O-13] the harness finds it when a request completes while an entry of it is in flight",
    patches: COMPLETED_TOO_EARLY,
    scenario: "erased",
    signal: "SIGKILL",
    at: /^erase mail/,
    found: /erase mail 1 after: O-13: erase ann: it was completed while 1 entries are in the way/,
    isHidden: false,
  },
  {
    what: "[O-10] the harness finds it when an event is written after the commit that it tells of",
    patches: TOLD_AFTER_THE_COMMIT,
    scenario: "erased",
    signal: "SIGKILL",
    at: /^commit/,
    found: /commit \d after: I9: entry .* ERASURE_STEP_SUCCEEDED is on record 0 times, not 1/,
    isHidden: true,
  },
];

onEachYard((yard) => {
  for (const { what, patches, scenario, signal, at, found, isHidden } of bugs) {
    it(what, { timeout: 60_000 }, async () => {
      const { problems } = await crashEverywhere({
        yard,
        scenario: scenarioOf(scenario),
        signal,
        root: await brokenBuild(patches),
        choose: (points) => points.filter(({ name }) => at.test(name)),
      });
      expect(problems.join("\n")).toMatch(found);
      expect(problems.some((problem) => problem.startsWith("undisturbed"))).toBe(!isHidden);
    });
  }
});
