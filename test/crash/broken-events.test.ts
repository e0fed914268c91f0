/** Tests of the tests: bugs that the event flow could have are put in on purpose, and must be found. */
import {
  BOOKED_AFTER_THE_HANDLER,
  DELIVERY_WITHOUT_TOKEN,
  LATE_SUCCESS_KEPT,
  MOVED_BEFORE_IT_SENT,
} from "./broken.ts";
import { findsEach, type Bug } from "./bugs.ts";

const bugs: readonly Bug[] = [
  {
    what: "[K-06][F-08] the harness finds it when a handler's outcome is booked without its token",
    patches: DELIVERY_WITHOUT_TOKEN,
    scenario: "flow-overtaken",
    signal: "SIGSTOP",
    at: /^handle reserve 1 after/,
    found: /handle reserve 1 after: I3: delivery .* was changed although claim 2 held it/,
    isHidden: true,
  },
  {
    what: "[F-07] the harness finds it when what a handler wrote is committed before its outcome is booked",
    patches: BOOKED_AFTER_THE_HANDLER,
    scenario: "flow-chain",
    signal: "SIGKILL",
    at: /^commit/,
    found: /commit \d after: F-07: charge wrote 2 times, and is booked 1 times/,
    isHidden: true,
  },
  {
    what: "[F-13] the harness finds it when a success that comes late is not undone",
    patches: LATE_SUCCESS_KEPT,
    scenario: "flow-late",
    signal: "SIGKILL",
    at: /^handle ship/,
    found: /F-12: run \(failed\): shipping was called, and is not undone/,
    isHidden: false,
  },
  {
    what: "[F-06][F-07] the harness finds it when a run moves before its event is sent",
    patches: MOVED_BEFORE_IT_SENT,
    scenario: "flow-refused",
    signal: "SIGKILL",
    at: /^write 1/,
    found: /write 1 after: F-17: run \(running\): nothing is under way for it/,
    isHidden: false,
  },
];

findsEach(bugs);
