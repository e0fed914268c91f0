/** Mutation tests of the event flow: the harness must find each bug that is injected into the build. */
import {
  OUTCOME_AFTER_HANDLER_COMMIT,
  DELIVERY_WITHOUT_TOKEN,
  LATE_SUCCESS_NOT_UNDONE,
  RUN_MOVED_BEFORE_EVENTS,
} from "./mutations.ts";
import { testEachMutation, type Mutation } from "./mutation-tests.ts";

const mutations: readonly Mutation[] = [
  {
    title: "[K-06][F-08] the harness finds a handler's outcome that is written without its token",
    patches: DELIVERY_WITHOUT_TOKEN,
    scenario: "flow-overtaken",
    signal: "SIGSTOP",
    points: /^handle reserve 1 after/,
    expected: /handle reserve 1 after: I3: delivery .* was changed although claim 2 held it/,
    needsCrash: true,
  },
  {
    title: "[F-07] the harness finds a handler's writes that are committed before its outcome",
    patches: OUTCOME_AFTER_HANDLER_COMMIT,
    scenario: "flow-chain",
    signal: "SIGKILL",
    points: /^commit/,
    expected: /commit \d after: F-07: charge wrote 2 times, but 1 successes of it are recorded/,
    needsCrash: true,
  },
  {
    title: "[F-13] the harness finds a late success that is not undone",
    patches: LATE_SUCCESS_NOT_UNDONE,
    scenario: "flow-late",
    signal: "SIGKILL",
    points: /^handle ship/,
    expected: /F-12: run \(failed\): shipping was called but not undone/,
    needsCrash: false,
  },
  {
    title: "[F-06][F-07] the harness finds a run that moves before its event is sent",
    patches: RUN_MOVED_BEFORE_EVENTS,
    scenario: "flow-refused",
    signal: "SIGKILL",
    points: /^write 1/,
    expected: /write 1 after: F-17: run \(running\): no open delivery moves it on/,
    needsCrash: false,
  },
];

testEachMutation(mutations);
