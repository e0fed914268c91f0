/** The suite of `npm run matrix`, on the runtime and the databases of this run. */
import { describe, expect, inject, it } from "vitest";
import { createDatabase } from "../../tools/postgres-server.mjs";
import { runExample } from "../examples/run-program.ts";
import { describeOn } from "../support/databases.ts";

const EVERYTHING = [
  "a start in a transaction",
  "a saga with compensation",
  "an event",
  "a call",
  "a webhook",
  "an erasure",
  "everything works",
];

describe("sqlite", () => {
  it("[C-08] a program that uses every part runs on this runtime, and ends by itself", async () => {
    const { code, output } = await runExample("test/matrix/suite.ts", ["matrix.db"]);
    expect(output.trimEnd().split("\n")).toEqual(EVERYTHING);
    expect(code).toBe(0);
  });
});

describeOn("postgres", () => {
  it("[C-08] a program that uses every part runs on this runtime, and ends by itself", async () => {
    const url = await createDatabase(inject("postgresUrl"), "matrix");
    const { code, output } = await runExample("test/matrix/suite.ts", [url]);
    expect(output.trimEnd().split("\n")).toEqual(EVERYTHING);
    expect(code).toBe(0);
  });
});
