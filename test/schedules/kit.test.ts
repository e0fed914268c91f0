/** Schedules in an application's own tests, and what they weigh on programs without schedules. */
import path from "node:path";
import { Amends, saga } from "amends";
import { sqlite } from "amends/sqlite";
import { testKit, virtualClock } from "amends/testing";
import { expect, it } from "vitest";
import { z } from "zod";
import { readRules } from "../../tools/doors.mjs";
import { readTexts, sourcesOf } from "../../tools/doors/sources.mjs";
import { root } from "../../tools/project.mjs";

const DAY = 86_400_000;

it("[T-01][S-41] the kit runs the ticks of schedules, over the death of the process", async () => {
  const started: string[] = [];
  const report = saga("report", z.object({})).step("write", {
    act: ({ sagaId }) => void started.push(sagaId),
  });
  const kit = await testKit((database) => new Amends({ database, sagas: [report] }));
  await kit.amends.schedules.put("daily", { cron: "0 6 * * *", saga: report, input: {} });
  kit.crash("write", "before");
  await kit.runUntilIdle({ within: "3d" });
  expect(started).toEqual([1, 2, 3].map((day) => `daily@2030-01-0${day}T06:00:00Z`));
  kit.refuseUnmet();
  await kit.close();
});

it("[T-01][S-41] the virtual clock drives a running worker from tick to tick, to the millisecond", async () => {
  const clock = virtualClock();
  const at: number[] = [];
  const report = saga("report", z.object({})).step("write", {
    act: () => void at.push(clock.virtualNowMs()),
  });
  const amends = new Amends({ database: sqlite(":memory:", { clock }), sagas: [report] });
  await amends.migrate();
  await amends.schedules.put("daily", { cron: "0 6 * * *", saga: report, input: {} });
  await amends.worker({ poll: "10m" }).start();
  const beganMs = clock.virtualNowMs();
  await clock.advance(2 * DAY);
  expect(at.map((ms) => ms - beganMs)).toEqual([DAY / 4, DAY / 4 + DAY]);
  await amends.close();
});

it("[S-41] only the entries with `Amends`, and that of schedules, load the library of cron texts", () => {
  const sources = new Map(
    sourcesOf(readTexts(root, ["src"]), readRules().table).map((source) => [source.file, source]),
  );
  const loads = (file: string, seen: Set<string> = new Set()): boolean => {
    if (seen.has(file)) return false;
    seen.add(file);
    return (sources.get(file)?.edges ?? []).some(
      ({ typeOnly, specifier, target }) =>
        !typeOnly && (specifier === "croner" || (target !== undefined && loads(target, seen))),
    );
  };
  const entries = [...sources.keys()].filter((file) => path.dirname(file) === "src");
  expect(entries.filter((file) => loads(file)).toSorted()).toEqual(
    ["config", "console", "index", "schedules", "testing"].map((name) => `src/${name}.ts`),
  );
});
