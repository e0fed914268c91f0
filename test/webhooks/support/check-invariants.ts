/** After each test of this folder, the invariants of webhook deliveries hold. */
import { afterEach, expect } from "vitest";
import { checkWebhookInvariants } from "../../crash/checkers/webhook-invariants.ts";
import type { TestDatabase } from "../../support/databases.ts";

export function checkInvariantsAfterEach(database: TestDatabase): void {
  afterEach(async () => {
    expect(await checkWebhookInvariants(await database.open())).toEqual([]);
  });
}
