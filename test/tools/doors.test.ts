import { describe, expect, it } from "vitest";
import { readRules } from "../../tools/doors.mjs";

describe("the doors of this project", () => {
  it("[W-04] keep orchestrator, jobs, worker and dead letters apart", () => {
    const { rooms } = readRules().table;
    const four = ["orchestrator", "jobs", "worker", "dead-letters"].map((name) => `webhooks/${name}`);
    for (const name of four)
      expect([name, four.filter((other) => rooms[name]?.opens.includes(other))]).toEqual([name, []]);
    for (const name of four.filter((other) => other !== "webhooks/worker"))
      expect([name, rooms[name]?.opens.includes("webhooks/sending")]).toEqual([name, false]);
  });
});
