import { expiringMemoryResolver, memoryResolver, virtualClock } from "amends/testing";
import { describe, expect, it } from "vitest";
import { callOf, thrownBy } from "./support/calls.ts";

const REF = { kind: "people", value: "p-1" };

describe("a system in memory", () => {
  it("[T-01] fails as often as it is told to, and remembers every call by its key", async () => {
    const people = memoryResolver("people");
    people.put("p-1");
    const trouble = new Error("busy");
    people.troubleNext({ throws: trouble }, 2);
    for (const attempt of [1, 2]) {
      expect(await thrownBy(() => people.eraseSubject(REF, callOf({ key: "a", attempt })))).toBe(trouble);
    }
    expect(await people.eraseSubject(REF, callOf({ key: "a", attempt: 3 }))).toEqual({});
    await people.verifyAbsent(REF, callOf({ key: "b" }));
    expect(people.callsUnder("a").map(({ operation, attempt }) => `${operation} ${attempt}`)).toEqual([
      "erase 1",
      "erase 2",
      "erase 3",
    ]);
    expect(people.calls).toHaveLength(4);
    expect(people.get("p-1")).toBeUndefined();
  });

  it("[T-01] loses a reply after it has done what was asked", async () => {
    const people = memoryResolver("people");
    people.put("p-1");
    people.troubleNext({ losesReply: true });
    await expect(people.eraseSubject(REF, callOf())).rejects.toThrow("The reply was lost.");
    expect(people.get("p-1")).toBeUndefined();
    expect(await people.eraseSubject(REF, callOf({ attempt: 2 }))).toEqual({ alreadyAbsent: true });
  });

  it("[T-01] answers nonsense, or nothing until it is aborted", async () => {
    const people = memoryResolver("people");
    people.troubleNext({ answers: "nonsense" });
    people.troubleNext({ hangs: true });
    expect(await people.eraseSubject(REF, callOf())).toBe("nonsense");
    const controller = new AbortController();
    const reason = new Error("enough");
    const hanging = thrownBy(() => people.eraseSubject(REF, callOf({ signal: controller.signal })));
    controller.abort(reason);
    expect(await hanging).toBe(reason);
  });

  it("[T-01] is down until it comes back, whatever else was planned", async () => {
    const people = memoryResolver("people", { personalRef: true });
    expect(people.personalRef).toBe(true);
    people.put("p-1", { email: "a@example.com" });
    people.troubleNext({ answers: {} });
    people.goDown();
    for (let times = 0; times < 3; times++) {
      await expect(people.eraseSubject(REF, callOf())).rejects.toThrow("The system is down.");
    }
    people.comeBack();
    expect(await people.eraseSubject(REF, callOf())).toEqual({});
    expect(people.get("p-1")).toEqual({ email: "a@example.com" });
  });

  it("[T-01] lets things expire on virtual time", async () => {
    const clock = virtualClock(0);
    const logs = expiringMemoryResolver("logs", { keeps: "30d", clock });
    logs.put("p-1", { path: "/" });
    const month = 30 * 86_400_000;
    expect(await logs.scheduleErasure(REF, callOf())).toEqual({ expiresAt: new Date(month) });
    await clock.advance(month - 1);
    expect(await logs.scheduleErasure(REF, callOf())).toEqual({ expiresAt: new Date(month) });
    expect(logs.get("p-1")).toEqual({ path: "/" });
    await clock.advance(1);
    expect(await logs.scheduleErasure(REF, callOf())).toEqual({ alreadyAbsent: true });
    expect(logs.get("p-1")).toBeUndefined();
    expect(logs.calls.map(({ operation }) => operation)).toEqual(["schedule", "schedule", "schedule"]);
  });
});
