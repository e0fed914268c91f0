/** The programs in examples/ run as they stand, and say what their comments promise. */
import { readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, inject, it } from "vitest";
import { root } from "../../tools/project.mjs";
import { createDatabase } from "../../tools/postgres-server.mjs";
import { describeOn } from "../support/databases.ts";
import { runExample } from "./run-program.ts";

describe("sqlite", () => {
  it("[S-01][S-10] a saga completes, and one that is declined is undone (example 01)", async () => {
    const { code, output } = await runExample("examples/01-a-saga.ts", ["shop.db"]);
    expect(output).toContain("reserve act COMPLETED\ncharge act COMPLETED\n");
    expect(output).toContain("o-1 COMPLETED, parcel p-r-1\n");
    expect(output).toContain("o-2 FAILED at charge: card-declined\n");
    expect(output).toContain("reserved: 1, takings: 1200\n");
    expect(code).toBe(0);
  });

  it("[S-19] a saga exists exactly if the caller's transaction commits (example 02)", async () => {
    const { code, output } = await runExample("examples/02-own-transaction-sqlite.ts");
    expect(output).toBe("o-1 COMPLETED\no-2 does not exist\n");
    expect(code).toBe(0);
  });

  it("[S-27] what a transactional step writes commits with its checkpoint, once (example 03)", async () => {
    const { code, output } = await runExample("examples/03-transactional-step.ts");
    expect(output).toBe(
      '300 COMPLETED\n5000 FAILED\n[{"name":"ann","cents":700},{"name":"ben","cents":300}]\n',
    );
    expect(code).toBe(0);
  });

  it("[S-21][S-22][S-29] retries, timeouts, deadlines and the pivot do what they say (example 04)", async () => {
    const { code, output } = await runExample("examples/04-retries-deadlines-pivot.ts");
    expect(output).toContain('patient: COMPLETED {"flaky":"attempt 3, key p:flaky:act"}\n');
    expect(output).toContain('timed: COMPLETED {"slow":"attempt 2"}\n');
    expect(output).toContain("  hold undone\nbounded: FAILED DeadlinePassed\n");
    expect(output).toContain("hopeless: FAILED account-closed\n");
    expect(output).toContain('pivoted: COMPLETED {"reserve":"r-1","ship":"p-1","email":"attempt 6"}\n');
    expect(code).toBe(0);
  });

  it("[S-14] a stalled saga can be retried, skipped and resolved, each with a reason (example 05)", async () => {
    const { code, output } = await runExample("examples/05-operators.ts");
    expect(output).toContain("page: o-1, the undo of step charge failed (PaymentsDown)\n");
    expect(output).toContain("o-1: turned back by no-courier; retry, skip, resolve\n");
    expect(output).toContain("o-1: FAILED, retry by ann: payments are back\n");
    expect(output).toContain("o-2: FAILED, skip by ann: refunded by hand, ticket 17\n");
    expect(output).toContain("o-3: FAILED, resolve by ann: the customer keeps the goods\n");
    expect(output).toContain("needing a person: 0\n");
    expect(code).toBe(0);
  });

  it("[S-45] a long act goes on where the last attempt had come to (example 30)", async () => {
    const { code, output } = await runExample("examples/30-progress.ts");
    expect(output.trimEnd().split("\n")).toEqual([
      "attempt 1 begins at file 1",
      "copied a.csv",
      "copied b.csv",
      "copied c.csv",
      'copy has come to {"done":3,"total":5}',
      "attempt 2 begins at file 4",
      "copied d.csv",
      "copied e.csv",
      "COMPLETED, progress: 0",
    ]);
    expect(code).toBe(0);
  });

  it("[S-26][S-33][S-34][S-35][S-36][S-37][S-46] the order process of a shop ships, waits, reminds, and takes back (order-process)", async () => {
    const { code, output } = await runExample("examples/order-process/main.ts");
    expect(output.split("\n").slice(0, 10)).toEqual([
      "o-1: COMPLETED; the order is shipped",
      "o-2: RUNNING, waits for any approved, rejected, late; the order is placed",
      "o-2: COMPLETED; the order is shipped",
      "o-3: FAILED; the order is cancelled at remind",
      "o-4: FAILED; the order is cancelled at reserve[1]",
      "3 reserved, 2 invoiced, 94500 cents paid, 2 labels, 2 parcels",
      "o-1:reversal: COMPLETED",
      "o-1: COMPLETED; the order is returned",
      "1 reserved, 1 invoiced, 90000 cents paid, 1 labels, 1 parcels",
      "mail: o-1 is on its way: parcel of o-1",
    ]);
    expect(output.match(/mail: reminder \d for o-3/g)).toHaveLength(5);
    expect(code).toBe(0);
  });

  // Its ninety runs of the process are quick, but not on a machine that is busy with other things.
  it(
    "[T-02][S-26][S-33][S-34][S-35][S-36][S-37][S-46] the order process is proven with `prove` (order-process)",
    { timeout: 300_000 },
    async () => {
      const { code, output } = await runExample("examples/order-process/prove.ts", [], {}, 280_000);
      expect(output.trimEnd().split("\n")).toEqual([
        expect.stringMatching(/^a small order: proven by 20 schedules; in \d+ of them a person decides$/),
        expect.stringMatching(/^a large order: proven by 10 schedules; in \d+ of them a person decides$/),
        expect.stringMatching(/^a rejected order: proven by 8 schedules; in \d+ of them a person decides$/),
      ]);
      expect(code).toBe(0);
    },
  );

  it("[S-41] a schedule starts a saga every night, once, and tells what became of each (example 14)", async () => {
    const { code, output } = await runExample("examples/14-schedules.ts");
    const lines = output.trimEnd().split("\n");
    expect(lines.filter((line) => !line.includes("@run-"))).toEqual([
      "created 2026-10-25T02:00:00.000Z",
      "nightly-invoices@2026-10-25T02:00:00Z: invoices of eu sent",
      "nightly-invoices@2026-10-26T02:00:00Z: invoices of eu sent",
      "nightly-invoices@2026-10-28T02:00:00Z: invoices of eu sent",
      "2026-10-29T02:00:00.000Z started by an operator COMPLETED",
      "2026-10-28T02:00:00.000Z started  COMPLETED",
      "2026-10-27T02:00:00.000Z missed  ",
      "2026-10-26T02:00:00.000Z started  COMPLETED",
      "2026-10-25T02:00:00.000Z started  COMPLETED",
      "next 2026-10-30T02:00:00.000Z, 2026-10-31T02:00:00.000Z",
    ]);
    expect(lines).toHaveLength(11);
    expect(code).toBe(0);
  });

  it("[P-05] one trace holds the start, the steps, and all that they send (example 10)", async () => {
    const { code, output } = await runExample("examples/10-trace.ts");
    const lines = output.trimEnd().split("\n");
    expect(lines[0]).toBe("saga o-1");
    expect(lines.slice(1).toSorted()).toEqual(
      [
        "  start place-order: ok",
        "  act place-order.reserve: ok",
        "  act place-order.place: ok",
        "    call send-mail: ok",
        "    deliver order.placed: ok",
        "  handle CountStock: ok",
      ].toSorted(),
    );
    expect(code).toBe(0);
  });

  it("[S-30] sagas end in the version that they began with, and wait for a worker that has it (example 06)", async () => {
    const { code, output } = await runExample("examples/06-versions.ts");
    expect(output).toBe(
      [
        "w-1 v1 COMPLETED: create-account, send-letter",
        "w-2 v1 PENDING: no worker has its steps",
        "w-3 v2 COMPLETED: create-account, send-mail",
        "",
      ].join("\n"),
    );
    expect(code).toBe(0);
  });

  it("[S-31] a definition and a run become diagrams, with the way back (example 07)", async () => {
    const { code, output } = await runExample("examples/07-diagrams.ts");
    expect(output).toContain("S->>P0: act hotel\n");
    expect(output).toContain("S->>P0: undo hotel\n");
    expect(output).toContain("act_1 --> undo_0: fails\n");
    expect(output).toContain("P1--xS: act failed, sunk\n");
    expect(output).toContain("P0-->>S: undo done\n");
    expect(code).toBe(0);
  });

  it("[F-18] the convention is set up, or what was done is undone, as its event flow says (example convention-init)", async () => {
    const { code, output } = await runExample("examples/convention-init/main.ts");
    expect(output).toContain(
      [
        "urn:osa:convention:1: completed",
        "  ConventionRegistered -> CreateConventionSchema",
        "  SchemaCreated -> CreateFeatureTables",
        "  FeatureTablesCreated",
        "  ConventionReady",
        "urn:osa:convention:2: failed",
        "  ConventionRegistered -> CreateConventionSchema",
        "  SchemaCreated -> CreateFeatureTables",
        "  FeatureTablesFailed",
        "  CompensateSchema",
        "  ConventionInitFailed",
        "urn:osa:convention:3: failed",
        "  ConventionRegistered -> CreateConventionSchema",
        "  SchemaCreated -> CreateFeatureTables",
        "  CompensateFeatureTables -> UndoFeatureTables",
        "  TablesCompensated",
        "  CompensateSchema",
        "  ConventionInitFailed",
        "tables: images, spectra, taken",
        "indexed: urn:osa:record:1 (Iron)",
        "",
      ].join("\n"),
    );
    expect(code).toBe(0);
  });

  it("[F-10][F-11] an order over four services completes, or is undone by those that had done their part (example order-events)", async () => {
    const { code, output } = await runExample("examples/order-events/main.ts");
    expect(output).toContain(
      "o-1 completed: OrderPlaced, StockReserved, PaymentTaken, ParcelSent, CustomerTold, OrderConfirmed\n",
    );
    expect(output).toContain(
      "o-2 failed: OrderPlaced, StockReserved, PaymentDeclined, ReleaseStock, StockReleased, OrderRejected\n",
    );
    expect(output).toContain("O->>H3: RefundPayment\n");
    expect(output).toContain("tea left: 2, takings: 1200\n");
    expect(code).toBe(0);
  });

  it("[F-04] the handlers of the examples know nothing of sagas", () => {
    for (const file of ["examples/convention-init/handlers.ts", "examples/order-events/services.ts"]) {
      const text = readFileSync(path.join(root, file), "utf8");
      expect(text).not.toMatch(/eventSaga|\bstep\(|SagaDef/);
    }
  });

  it("[S-13][K-09] hours of waiting pass by hand under a virtual clock (example 08)", async () => {
    const { code, output } = await runExample("examples/08-virtual-time.ts");
    expect(output).toBe('COMPLETED {"send":"sent at attempt 3"}\n2 failed tries\n');
    expect(code).toBe(0);
  });
});

describe("sqlite", () => {
  it("[S-25] approvals, payments and time are waited for, kept when early, and given up when late (example 09)", async () => {
    const { code, output } = await runExample("examples/09-waiting.ts");
    expect(output).toBe(
      [
        "o-1: reserved",
        "o-2: reserved",
        "o-1: RUNNING, waits for signal approved, at most 3.0 days more",
        "click 1: sent",
        "click 2: sent before",
        "o-1: RUNNING, waits for sleep, at most 0.1 days more",
        "o-1: approved by ann, paid 1200, shipped",
        "o-2: released",
        "o-1: COMPLETED",
        "o-2: FAILED",
        "The saga is FAILED: nothing waits for signal approved any more. Nothing was written.",
        "",
      ].join("\n"),
    );
    expect(code).toBe(0);
  });

  it("[W-08][W-15][W-17][W-18] a shop's webhooks meet healthy, slow, failing, gone, redirecting and hostile receivers (example webhooks)", async () => {
    const { code, output } = await runExample("examples/webhooks/main.ts");
    expect(output).toContain("http://169.254.169.254/: BAD_URL\n");
    expect(output).toContain("healthy: Completed after http_204\n");
    expect(output).toContain("failing: Completed after http_500, http_500, http_200\n");
    expect(output).toContain("slow: DeadLettered after timeout, timeout, timeout\n");
    expect(output).toContain("gone: DeadLettered after gone\n");
    expect(output).toContain("redirecting: DeadLettered after redirect, redirect, redirect\n");
    expect(output).toContain("endless: DeadLettered after http_500, http_500, http_500\n");
    expect(output).toContain("healthy took o-1-placed\n");
    expect(output).toMatch(
      /needs a person: disabled-subscription, \S+: it answered HTTP 410 \(gone for good\)\n/,
    );
    expect(output).toMatch(/resent: DeadLettered, generation 1\n/);
    expect(code).toBe(0);
  });
});

const SHOP = [
  'deleted {"messages":2,"avatars":1}, anonymized {"users":1,"orders":2}\nretained 1 of orders.billing_name until 2039-11-30 (tax law, ten years)\n',
  '[{"id":"u-ann","name":"erased"},{"id":"u-ben","name":"Ben Baker"}]\n',
  "page: newsletter gave up after 3 tries, http-503\n2030-01-03: 1 scheduled, 1 abandoned, 1 succeeded\n2030-02-01: 1 abandoned, 2 succeeded\n",
  "attention: abandoned-entry, for u-ann: newsletter did not erase: http-503, 3 attempts\nattention: overdue-erasure, newsletter is abandoned\n",
  "2030-02-01: 3 succeeded\nneeding a person: 0\n",
  "  ERASURE_STEP_SUCCEEDED newsletter\n  ERASURE_COMPLETED \nleft of Ann: 0 in the shop, false at Stripe\n",
  "corrected ben@example.org, ben@example.org, ben@example.org\n",
  "  RECTIFICATION_COMPLETED \n",
];

describe("sqlite", () => {
  it("[E-02][E-08][E-11][O-11][O-16] the shop forgets a person everywhere, and corrects another (example erasure-shop)", async () => {
    const { code, output } = await runExample("examples/erasure-shop/main.ts");
    for (const lines of SHOP) expect(output).toContain(lines);
    expect(code).toBe(0);
  });
});

describeOn("postgres", () => {
  it("[E-02][E-08][E-11][O-11][O-16] the shop forgets a person everywhere, and corrects another (example erasure-shop)", async () => {
    const server = inject("postgresUrl");
    const name = `erasure_shop_${process.pid}`;
    await createDatabase(server, name);
    const url = new URL(server);
    url.pathname = `/${name}`;
    const { code, output } = await runExample("examples/erasure-shop/main.ts", [], {
      DATABASE_URL: url.href,
    });
    for (const lines of SHOP) expect(output).toContain(lines);
    expect(code).toBe(0);
  });

  it("[S-19] a saga exists exactly if the caller's transaction commits (example 02)", async () => {
    const server = inject("postgresUrl");
    const name = `examples_${process.pid}`;
    await createDatabase(server, name);
    const url = new URL(server);
    url.pathname = `/${name}`;
    const { code, output } = await runExample("examples/02-own-transaction-postgres.ts", [], {
      DATABASE_URL: url.href,
    });
    expect(output).toBe("o-1 COMPLETED\no-2 does not exist\n");
    expect(code).toBe(0);
  });
});

it("[S-20] orders are paid another way while the card service is down, and each is paid once (example 13)", async () => {
  const { code, output } = await runExample("examples/13-fallback.ts");
  expect(output).toBe(
    [
      "o-1: COMPLETED, paid by invoice, the card service was called 1 times",
      "o-2: COMPLETED, paid by invoice, the card service was called 1 times",
      "o-3: COMPLETED, paid by invoice, the card service was called 0 times",
      "o-4: COMPLETED, paid by invoice, the card service was called 0 times",
      "o-5: COMPLETED, paid by card, the card service was called 1 times",
      "o-6: COMPLETED, paid by card, the card service was called 1 times",
      "by card 1400, by invoice 2800",
      "o-3: charge act STARTED",
      "o-3: charge act FAILED: CircuitOpen, invoice instead",
      "o-3: invoice act STARTED",
      "o-3: invoice act COMPLETED",
      "o-3: ship act STARTED",
      "o-3: ship act COMPLETED",
      "",
    ].join("\n"),
  );
  expect(code).toBe(0);
});

it("[T-02] a saga that pays twice after a crash is found out, and the one that is right is proven (example 11)", async () => {
  const { code, output } = await runExample("examples/11-prove.ts");
  // The same schedules, and the same ends, in every process.
  expect(output).toMatch(/^Saga place-order is not proven: 16 of 94 schedules went wrong\.\n/);
  expect(output).toContain(
    [
      "- crash after charge answered, before its outcome was written",
      "  COMPLETED: the invariant does not hold",
      "  seed: crash-answered@charge",
      "",
    ].join("\n"),
  );
  expect(output).toMatch(/\nproven by 94 schedules; in 34 of them a person decides\n$/);
  expect(code).toBe(0);
});

it("[S-24] steps act at the same time, and what they did is undone where one says no (example 12)", async () => {
  const { code, output } = await runExample("examples/12-parallel.ts");
  expect(output).toContain(
    "t-1 COMPLETED [\n  'flight under t-1:flight:act',\n  'hotel under t-1:hotel:act',",
  );
  expect(output).toContain("at most 2 at once\n");
  expect(output).toContain("  give back the flight under t-2:flight:act\nt-2 FAILED hotel: no-rooms\n");
  expect(output).not.toContain("give back the hotel");
  expect(code).toBe(0);
});
