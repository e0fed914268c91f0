/** Contexts: JSON survives a round trip, and the storage shares no objects with its callers. S-02. */
import assert from "node:assert/strict";
import type { SagaContext } from "../../contract/contract.ts";
import type { StorageCase } from "./storage-trial.ts";

const ODD: Readonly<Record<string, SagaContext>> = {
  "an empty object": {},
  "empty values": { text: "", list: [], object: {}, nothing: null, no: false, zero: 0 },
  "nested values": { a: [{ b: [[{ c: [1, [2, [3]]] }]] }] },
  numbers: { big: 1e300, small: 5e-324, integer: Number.MAX_SAFE_INTEGER, negative: -1.5 },
  "texts that look like something else": {
    a: "null",
    b: "1",
    c: "{}",
    d: "'; drop table sagas; --",
    e: "\\u0041",
  },
  "quotes, backslashes and control characters": { text: "\"'`\\ \n\r\t\b\f \u0001\u001f\u007f" },
  "unicode in values": { text: "Grüße 日本語 العربية 👩‍👩‍👧‍👦 \u2028\u2029\ufeff\u{10ffff}" },
  "odd keys": {
    "": 1,
    " ": 2,
    "a.b": 3,
    $set: 4,
    constructor: 5,
    toString: 6,
    length: 7,
    0: 8,
    ключ: 9,
    "👍": 10,
  },
};

export const contextCases: readonly StorageCase[] = [
  {
    name: "[S-02] a context comes back as it was given, however odd its JSON is",
    async show({ storage }) {
      for (const [what, context] of Object.entries(ODD)) {
        await storage.createSaga(what, "order", context);
        assert.deepEqual(
          plain((await storage.loadSagaState(what)).context),
          plain(context),
          `created: ${what}`,
        );
        await storage.updateContext(what, { other: true });
        await storage.updateContext(what, context);
        assert.deepEqual(
          plain((await storage.loadSagaState(what)).context),
          plain(context),
          `updated: ${what}`,
        );
      }
    },
  },
  {
    name: "[S-02] a new context takes the place of the old one as a whole",
    async show({ storage }) {
      await storage.createSaga("saga-1", "order", { a: 1, b: { c: 2 } });
      await storage.updateContext("saga-1", { b: { d: 3 } });
      assert.deepEqual((await storage.loadSagaState("saga-1")).context, { b: { d: 3 } });
    },
  },
  {
    name: "[S-02] what is read back is what JSON makes of a context",
    async show({ storage }) {
      const context = { at: new Date(0), absent: undefined, list: [undefined, 1] };
      await storage.createSaga("saga-1", "order", context);
      const expected = { at: "1970-01-01T00:00:00.000Z", list: [null, 1] };
      assert.deepEqual(plain((await storage.loadSagaState("saga-1")).context), expected);
    },
  },
  {
    name: "[S-02] a large context comes back whole",
    async show({ storage }) {
      const context = {
        text: "ä".repeat(200_000),
        rows: Array.from({ length: 5_000 }, (_, n) => ({ n, name: `row ${n}` })),
      };
      await storage.createSaga("saga-1", "order", {});
      await storage.updateContext("saga-1", context);
      const found = (await storage.loadSagaState("saga-1")).context;
      assert.ok(
        JSON.stringify(found) === JSON.stringify(context),
        "a context of half a megabyte must come back whole",
      );
    },
  },
  {
    name: "[S-02] later changes to an object do not reach the storage",
    async show({ storage }) {
      const given = { list: [1] };
      await storage.createSaga("saga-1", "order", given);
      given.list.push(2);
      assert.deepEqual((await storage.loadSagaState("saga-1")).context, { list: [1] }, "after createSaga");
      await storage.updateContext("saga-1", given);
      given.list.push(3);
      const read = (await storage.loadSagaState("saga-1")).context as { list: number[] };
      assert.deepEqual(read, { list: [1, 2] }, "after updateContext");
      read.list.push(4);
      assert.deepEqual(
        (await storage.loadSagaState("saga-1")).context,
        { list: [1, 2] },
        "after loadSagaState",
      );
    },
  },
];

/** Ignores the difference between a null prototype and Object.prototype, which JSON does not preserve. */
function plain(context: SagaContext): unknown {
  return JSON.parse(JSON.stringify(context));
}
