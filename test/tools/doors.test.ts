import { describe, expect, it } from "vitest";
import { importersOf, readRules } from "../../tools/doors.mjs";

describe("the doors of this project", () => {
  it("[W-04] give the jobs' table to one file, the job layer's: nobody else can name the columns of a lease", () => {
    const { tables, pending } = readRules().table;
    expect(tables["webhook_jobs"]).toBe("webhooks/deliver/job-queries.ts");
    const others = Object.entries(pending?.tables ?? {}).filter(([, names]) =>
      names.includes("webhook_jobs"),
    );
    expect(others.map(([file]) => file).filter((file) => file.startsWith("webhooks/"))).toEqual([]);
  });

  it("name the rooms whose tests a change of a room may break", () => {
    expect(importersOf(["attention"])).toEqual(expect.arrayContaining(["console", "cli"]));
    expect(importersOf(["attention"])).not.toContain("core");
    expect(importersOf(["attention", "cli"])).not.toContain("cli");
  });
});
