// A chain of five handlers as one saga. The schema is written by hand so that no schema library's cost is measured with it.
import { event, eventSaga, handler, ok, step } from "../../dist/events.js";

const keyed = {
  "~standard": {
    version: 1,
    vendor: "amends-bench",
    validate: (value) =>
      typeof value?.key === "string" ? { value } : { issues: [{ message: "must be a text", path: ["key"] }] },
  },
};

const names = ["A", "B", "C", "D", "E", "F"];
const links = names.map((name) => event(name, keyed));
const Refused = event("Refused", keyed);
const Completed = event("Completed", keyed);
const Failed = event("Failed", keyed);

export const Begun = links[0];

export const chain = eventSaga("chain", {
  trigger: Begun,
  correlate: "key",
  steps: links.slice(1).map((next, index) =>
    step(
      `to${names[index + 1]}`,
      handler(`make${names[index + 1]}`, {
        on: links[index],
        ok: next,
        err: Refused,
        handle: ({ key }) => ok(next({ key })),
      }),
    ),
  ),
  onCompleted: (key) => Completed({ key }),
  onFailed: (key) => Failed({ key }),
});

/** An event that one handler takes, which never runs here: publishing alone is measured. */
export const Noted = event("Noted", keyed);
export const note = handler("note", {
  on: Noted,
  ok: Completed,
  err: Refused,
  handle: ({ key }) => ok(Completed({ key })),
});
