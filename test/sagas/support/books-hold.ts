/** After each test of a room, whatever it did: the invariants hold in the books that it leaves. */
import { afterEach, expect } from "vitest";
import type { TestDatabase } from "../../support/databases.ts";
import { checkSagaInvariants } from "../../crash/checkers/saga-invariants.ts";

export function booksHold(database: TestDatabase): void {
  afterEach(async () => {
    expect(await checkSagaInvariants(await database.open())).toEqual([]);
  });
}
