/** After each test of a file, the saga invariants hold, whatever the test did. */
import { afterEach, expect } from "vitest";
import type { TestDatabase } from "../../support/databases.ts";
import { checkSagaInvariants } from "../../crash/checkers/saga-invariants.ts";

export function checkInvariantsAfterEach(database: TestDatabase): void {
  afterEach(async () => {
    expect(await checkSagaInvariants(await database.open())).toEqual([]);
  });
}
