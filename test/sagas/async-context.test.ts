import { AsyncLocalStorage } from "node:async_hooks";
import { saga, type Middleware } from "amends";
import { expect, it } from "vitest";
import { z } from "zod";
import { onEachDatabase } from "../support/databases.ts";
import { checkInvariantsAfterEach } from "./support/check-invariants.ts";

const NAMES = ["a", "b", "c", "d"] as const;

onEachDatabase((database) => {
  checkInvariantsAfterEach(database);

  /** What each call saw in the storage, below the id of its saga. */
  const seenBy = (): {
    storage: AsyncLocalStorage<string>;
    seen: Map<string, Set<unknown>>;
    look: (id: string) => void;
  } => {
    const storage = new AsyncLocalStorage<string>();
    const seen = new Map<string, Set<unknown>>();
    const look = (id: string): void => {
      seen.set(id, (seen.get(id) ?? new Set()).add(storage.getStore()));
    };
    return { storage, seen, look };
  };

  it("[S-32] sagas whose steps share commits run each in the asynchronous context of its own start", async () => {
    const { storage, seen, look } = seenBy();
    const act = ({ sagaId }: { readonly sagaId: string }): void => look(sagaId);
    const later = async ({ sagaId }: { readonly sagaId: string }): Promise<void> => {
      await Promise.resolve();
      look(sagaId);
    };
    const chain = saga("chain", z.object({}))
      .step("one", { act, compensate: act })
      .step("two", { act: later, compensate: later })
      .step("three", { act });
    const amends = await database.amends({ sagas: [chain] });
    await database.worker(amends);
    const runs = await Promise.all(NAMES.map((id) => storage.run(id, () => amends.start(chain, {}, { id }))));
    for (const run of runs) expect(await run.result()).toMatchObject({ status: "COMPLETED" });
    for (const id of NAMES) expect([id, [...(seen.get(id) ?? [])]]).toEqual([id, [id]]);
  });

  it("[S-32] what middleware puts into the context of one saga is seen by no other saga", async () => {
    const { storage, seen, look } = seenBy();
    const middleware: Middleware[] = [
      ({ sagaId }, next) => {
        // Whatever an earlier step of the same saga left is its own.
        look(sagaId);
        storage.enterWith(sagaId);
        return next();
      },
    ];
    const chain = saga("chain", z.object({}))
      .step("one", { act: () => 1 })
      .step("two", { act: async () => 2 })
      .step("three", { act: () => 3 });
    const amends = await database.amends({ sagas: [chain], middleware });
    for (const id of NAMES) await amends.start(chain, {}, { id });
    await amends.worker().runOnce();
    for (const id of NAMES) {
      const others = [...(seen.get(id) ?? [])].filter((found) => found !== undefined && found !== id);
      expect([id, others]).toEqual([id, []]);
    }
    expect(storage.getStore()).toBeUndefined();
  });
});
