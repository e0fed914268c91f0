/** Mutation tests of the outbox: the harness must find each bug that is injected into the build. */
import { COMPLETED_WHILE_IN_FLIGHT, ENTRY_WITHOUT_TOKEN, AUDIT_AFTER_COMMIT } from "./mutations.ts";
import { testEachMutation, type Mutation } from "./mutation-tests.ts";

const mutations: readonly Mutation[] = [
  {
    title: "[K-06] the harness finds a settle that does not check its token",
    patches: ENTRY_WITHOUT_TOKEN,
    scenario: "overtaken",
    signal: "SIGSTOP",
    points: /^erase/,
    expected: /erase stripe 1 after: I3: entry .* was changed although claim 2 held it/,
    needsCrash: true,
  },
  {
    title: "[O-13] the harness finds a request that completes while one of its entries is in flight",
    patches: COMPLETED_WHILE_IN_FLIGHT,
    scenario: "erased",
    signal: "SIGKILL",
    points: /^erase mail/,
    expected: /erase mail 1 after: O-13: erase ann: it was completed while 1 entries are blocking/,
    needsCrash: false,
  },
  {
    title: "[O-10] the harness finds an audit event that is written after the commit that it reports",
    patches: AUDIT_AFTER_COMMIT,
    scenario: "erased",
    signal: "SIGKILL",
    points: /^commit/,
    expected: /commit \d after: I9: entry .* ERASURE_STEP_SUCCEEDED is recorded 0 times, not 1/,
    needsCrash: true,
  },
];

testEachMutation(mutations);
