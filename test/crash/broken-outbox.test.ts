/** Tests of the tests: bugs that the outbox could have are put in on purpose, and must be found. */
import { COMPLETED_TOO_EARLY, ENTRY_WITHOUT_TOKEN, TOLD_AFTER_THE_COMMIT } from "./broken.ts";
import { findsEach, type Bug } from "./bugs.ts";

const bugs: readonly Bug[] = [
  {
    what: "[K-06] the harness finds it when a settle forgets its token",
    patches: ENTRY_WITHOUT_TOKEN,
    scenario: "overtaken",
    signal: "SIGSTOP",
    at: /^erase/,
    found: /erase stripe 1 after: I3: entry .* was changed although claim 2 held it/,
    isHidden: true,
  },
  {
    what: "[O-13] the harness finds it when a request completes while an entry of it is in flight",
    patches: COMPLETED_TOO_EARLY,
    scenario: "erased",
    signal: "SIGKILL",
    at: /^erase mail/,
    found: /erase mail 1 after: O-13: erase ann: it was completed while 1 entries are in the way/,
    isHidden: false,
  },
  {
    what: "[O-10] the harness finds it when an event is written after the commit that it tells of",
    patches: TOLD_AFTER_THE_COMMIT,
    scenario: "erased",
    signal: "SIGKILL",
    at: /^commit/,
    found: /commit \d after: I9: entry .* ERASURE_STEP_SUCCEEDED is on record 0 times, not 1/,
    isHidden: true,
  },
];

findsEach(bugs);
