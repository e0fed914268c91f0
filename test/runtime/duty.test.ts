import { expect, it } from "vitest";
import { chooseDuties } from "../../src/runtime/duty.ts";

const DUTIES = [
  { name: "sagas" },
  { name: "events" },
  { name: "events:deadlines" },
  { name: "webhooks" },
  { name: "webhooks:administrator" },
  { name: "webhooks:orchestrator", isOptional: true },
  { name: "webhooks:sender", isOptional: true },
];

function chosen(only?: readonly string[]): readonly string[] {
  return chooseDuties(DUTIES, only).map(({ name }) => name);
}

it("[P-01] a worker drives every duty that is not optional, or those that it is told by name", () => {
  expect(chosen()).toEqual(["sagas", "events", "events:deadlines", "webhooks", "webhooks:administrator"]);
  expect(chosen(["events"])).toEqual(["events", "events:deadlines"]);
  expect(chosen(["webhooks"])).toEqual(["webhooks", "webhooks:administrator"]);
  expect(chosen(["webhooks:sender"])).toEqual(["webhooks:sender"]);
  expect(chosen(["webhooks:sender", "sagas", "sagas"])).toEqual(["sagas", "webhooks:sender"]);
});

it.each([[["webhook"]], [["sagas", "webhooks:senders"]], [["deadlines"]], [[""]], [[]]])(
  "[P-01] %j is refused with the names that there are",
  (only) => {
    expect(() => chosen(only)).toThrow(
      "events, events:deadlines, sagas, webhooks, webhooks:administrator, webhooks:orchestrator, webhooks:sender",
    );
    expect(() => chosen(only)).toThrow(expect.objectContaining({ code: "BAD_OPTION" }) as Error);
  },
);
