/** The suite that a custom resolver must pass, against the real system's sandbox or a fake of it. */
import assert from "node:assert/strict";
import type { Correction } from "../../core/outbox/entry.ts";
import { waitForReal, within, type ConformanceCase } from "./case.ts";
import { eraseCases, plainCases } from "./resolver-cases-erase.ts";
import { expiryCases, rectifyCases, verifyCases } from "./resolver-cases-further.ts";
import { abortCases, faultCases } from "./resolver-cases-trouble.ts";
import {
  canErase,
  canRectify,
  canSchedule,
  canVerify,
  contextOf,
  type ResolverCase,
  type ResolverTrial,
} from "./resolver-trial.ts";

/** What the resolver under test can do. A method that is not declared here fails the suite. */
export interface ResolverConformanceOptions {
  /** True for a resolver with `scheduleErasure` instead of `eraseSubject`. Default: false. */
  readonly retentionOnly?: boolean;
  /** For a resolver with `rectifySubject`: at least two corrections, in categories that it knows. Default: none. */
  readonly corrections?: readonly [Correction, Correction, ...Correction[]];
  /** True for a resolver with `verifyAbsent`. Default: false. */
  readonly verifies?: boolean;
  /** False if the system cannot be made to fail: the cases about failures are then left out. Default: true. */
  readonly hasFaults?: boolean;
  /** Lets time pass. With a virtual clock, pass `(ms) => clock.advance(ms)`. Default: real time. */
  readonly wait?: (ms: number) => Promise<void>;
  /** The system's time in milliseconds since the epoch. Default: real time. */
  readonly nowMs?: () => number;
  /** The time limit of one case in milliseconds. Default: 20000. */
  readonly limitMs?: number;
}

/** Makes a resolver with its system. Each case makes its own and closes it at its end. */
export type MakeResolver = () => Promise<ResolverTrial>;

/** Returns the cases that a custom resolver must pass. Run each with your test runner. */
export function resolverConformance(
  makeResolver: MakeResolver,
  options: ResolverConformanceOptions = {},
): readonly ConformanceCase[] {
  const { retentionOnly = false, corrections = [], verifies = false, hasFaults = true } = options;
  const { wait = waitForReal, nowMs = Date.now, limitMs = 20_000 } = options;
  const cases: readonly ResolverCase[] = [
    capabilities({ retentionOnly, rectifies: corrections.length > 0, verifies }),
    ...eraseCases,
    ...(retentionOnly ? expiryCases : plainCases),
    ...(corrections.length > 0 ? rectifyCases : []),
    ...(verifies ? verifyCases : []),
    ...abortCases,
    ...(hasFaults ? faultCases : []),
  ];
  return cases.map(({ name, show }) => ({
    name,
    async run() {
      const trial = await makeResolver();
      try {
        await within("resolver", limitMs, show(contextOf(trial, { corrections, wait, nowMs })));
      } finally {
        await trial.close();
      }
    },
  }));
}

/** A method that is not declared would silently not be tested. */
function capabilities(said: { retentionOnly: boolean; rectifies: boolean; verifies: boolean }): ResolverCase {
  return {
    name: "[E-12] the resolver can do what is said of it, and nothing that is not said",
    async show({ resolver }) {
      const compare = (has: boolean, is: boolean, method: string, option: string): void =>
        assert.equal(
          has,
          is,
          has
            ? `the resolver has ${method}: give ${option}`
            : `the resolver has no ${method}, as ${option} says`,
        );
      compare(canSchedule(resolver), said.retentionOnly, "scheduleErasure", "retentionOnly: true");
      compare(!canErase(resolver), said.retentionOnly, "way but eraseSubject", "retentionOnly: true");
      compare(canRectify(resolver), said.rectifies, "rectifySubject", "corrections");
      compare(canVerify(resolver), said.verifies, "verifyAbsent", "verifies: true");
    },
  };
}
