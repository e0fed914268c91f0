/** A process that dies before any one of the calls that it makes to a storage, with and without runs. */
import { err, saga, type SagaRun } from "amends";
import type { SagaStorage } from "amends/storage";
import { describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { MapSagaStorage } from "../../examples/own-storage/map-storage.ts";
import { historyIn, processes } from "./engine-storages.ts";
import { failing } from "./failing-storage.ts";
import { RunningMapStorage } from "./running-map-storage.ts";

const STORAGES: Readonly<Record<string, () => SagaStorage>> = {
  "without runs": () => new MapSagaStorage(),
  "with runs": () => new RunningMapStorage(),
};

/** Never for a saga that its process could not begin. */
function ended(run: SagaRun | undefined): Promise<boolean> {
  return run ? run.result().then(() => true) : new Promise(() => undefined);
}

for (const [title, make] of Object.entries(STORAGES)) {
  describe(`a storage of one's own, ${title}`, () => {
    const process = processes();

    it.each(["COMPLETED", "FAILED"] as const)(
      "[S-04][S-07] a saga that ends %s gets there, and its tables agree, before whichever call its process dies",
      async (end) => {
        const done: string[] = [];
        const ways = saga("ways", z.object({}))
          .step("one", { act: () => void done.push("one"), compensate: () => void done.push("undo one") })
          .step("two", { act: () => (end === "FAILED" ? err("no") : void done.push("two")) });

        for (let at = 1, isOver = false; !isOver; at++) {
          done.length = 0;
          const kept = make();
          const mortal = failing(kept);
          mortal.dieAtWrite(at);
          const dying = await process({ storage: mortal.storage, sagas: [ways] });
          const begun = await dying.start(ways, {}, { id: "saga-1" }).catch(() => undefined);
          isOver = await Promise.race([mortal.dead.then(() => false), ended(begun)]);

          const healthy = await process({ storage: kept, sagas: [ways], lease: "100ms" });
          const outcome = await (await healthy.start(ways, {}, { id: "saga-1" })).result();
          const timeline = (await healthy.inspect("saga-1"))?.timeline ?? [];
          const expected = timeline.map(
            ({ name, kind, action, status }) => `${kind === "control" ? "$" : ""}${name} ${action} ${status}`,
          );
          const where = `died before write ${at}`;
          await vi.waitFor(async () => expect((await kept.loadSagaState("saga-1")).status).toBe(end));
          const found = {
            where,
            history: await historyIn(kept, "saga-1"),
            status: outcome.status,
            last: done.at(-1),
          };
          const last = end === "FAILED" ? "undo one" : "two";
          expect(found).toEqual({ where, history: expected, status: end, last });
          expect(at).toBeLessThan(60);
        }
      },
    );
  });
}
