/** The history of a saga: complete, in order, and each saga's own. S-02 and S-03. */
import assert from "node:assert/strict";
import { portrait, running, type StorageCase } from "./storage-trial.ts";

export const historyCases: readonly StorageCase[] = [
  {
    name: "[S-02][S-03] the history holds every line with its content, oldest first",
    async show({ storage }) {
      await running(storage, "saga-1");
      await storage.logStep("saga-1", "reserve", "act", "STARTED");
      await storage.logStep("saga-1", "reserve", "act", "COMPLETED", '{"id":7}');
      await storage.logStep("saga-1", "charge", "act", "FAILED", "declined");
      await storage.logStep("saga-1", "reserve", "compensate", "STARTED", null);
      await storage.logStep("saga-1", "reserve", "compensate", "COMPLETED", "");
      const { history } = await portrait(storage, "saga-1");
      assert.deepEqual(history, [
        "reserve act STARTED null",
        'reserve act COMPLETED {"id":7}',
        "charge act FAILED declined",
        "reserve compensate STARTED null",
        "reserve compensate COMPLETED ",
      ]);
    },
  },
  {
    name: "[S-03] lines carry rising ids, their saga and an instant that never goes back",
    async show({ storage, wait }) {
      await running(storage, "saga-1");
      for (let n = 0; n < 12; n++) {
        await storage.logStep("saga-1", `step-${n}`, "act", "STARTED");
        if (n === 5) await wait(5);
      }
      const entries = await storage.getStepHistory("saga-1");
      assert.deepEqual(
        entries.map(({ stepName }) => stepName),
        Array.from({ length: 12 }, (_, n) => `step-${n}`),
        "lines must come in the order in which they were written (as numbers, not as texts)",
      );
      for (const [index, entry] of entries.entries()) {
        assert.equal(entry.sagaId, "saga-1");
        assert.ok(
          entry.createdAt instanceof Date && !Number.isNaN(entry.createdAt.getTime()),
          "createdAt must be a Date",
        );
        const before = entries[index - 1];
        if (!before) continue;
        assert.ok(entry.id > before.id, `ids must rise: ${before.id}, then ${entry.id}`);
        assert.ok(entry.createdAt >= before.createdAt, "createdAt must not go back");
      }
    },
  },
  {
    name: "[S-02] the same line twice is two lines",
    async show({ storage }) {
      await running(storage, "saga-1");
      await storage.logStep("saga-1", "charge", "act", "FAILED", "timeout");
      await storage.logStep("saga-1", "charge", "act", "FAILED", "timeout");
      assert.equal((await storage.getStepHistory("saga-1")).length, 2);
    },
  },
  {
    name: "[S-02] each saga has its own history",
    async show({ storage }) {
      await running(storage, "saga-1");
      await running(storage, "saga-2");
      await running(storage, "saga-3");
      await storage.logStep("saga-1", "one", "act", "STARTED");
      await storage.logStep("saga-2", "two", "act", "STARTED");
      await storage.logStep("saga-1", "three", "act", "STARTED");
      const names = async (id: string): Promise<string[]> =>
        (await storage.getStepHistory(id)).map(({ stepName }) => stepName);
      assert.deepEqual(await names("saga-1"), ["one", "three"]);
      assert.deepEqual(await names("saga-2"), ["two"]);
      assert.deepEqual(await names("saga-3"), []);
    },
  },
  {
    name: "[S-02] details come back as they were given, long and odd ones too",
    async show({ storage }) {
      await running(storage, "saga-1");
      const details = ["Grüße 日本語 👍 \u2028", "\"'\\ \n\t", "null", "{}", " ", "ä".repeat(100_000)];
      for (const text of details) await storage.logStep("saga-1", "charge", "act", "FAILED", text);
      const found = (await storage.getStepHistory("saga-1")).map((entry) => entry.details);
      assert.ok(
        JSON.stringify(found) === JSON.stringify(details),
        "details must come back as they were given",
      );
    },
  },
];
