/** Optional methods of resolvers: rectify, verify, or schedule instead of erasing: O-06, O-07, O-11, O-12. */
import assert from "node:assert/strict";
import type { Correction, SubjectRef } from "../../core/outbox/entry.ts";
import {
  callWith,
  canErase,
  canRectify,
  canVerify,
  erase,
  newKey,
  type ResolverCase,
  type ResolverCaseContext,
} from "./resolver-trial.ts";

async function rectify(
  { resolver }: ResolverCaseContext,
  ref: SubjectRef,
  corrections: readonly Correction[],
  key: string,
  attempt: number = 1,
): Promise<void> {
  assert.ok(canRectify(resolver), "the resolver has no rectifySubject");
  const answer: unknown = await resolver.rectifySubject(ref, corrections, callWith(key, attempt));
  assert.ok(typeof answer === "object" && answer !== null, "rectifySubject must answer with an object");
}

async function reads(
  trial: ResolverCaseContext,
  ref: SubjectRef,
  categories: readonly string[],
): Promise<string[]> {
  return Promise.all(categories.map(async (category) => String(await trial.read(ref, category))));
}

export const rectifyCases: readonly ResolverCase[] = [
  {
    name: "[O-07] a correction is made, and nothing else is changed",
    async show(trial) {
      const [ref, other] = [await trial.plant(), await trial.plant()];
      const [first, ...rest] = trial.corrections as readonly [Correction, ...Correction[]];
      const untouched = rest.map(({ category }) => category).filter((one) => one !== first.category);
      const before = await reads(trial, ref, untouched);
      const others = await reads(trial, other, [first.category]);
      await rectify(trial, ref, [first], newKey());
      assert.deepEqual(
        await reads(trial, ref, [first.category]),
        [String(first.value)],
        `${first.category} must be corrected`,
      );
      assert.deepEqual(await reads(trial, ref, untouched), before, "what is not corrected must stay");
      assert.deepEqual(
        await reads(trial, other, [first.category]),
        others,
        "other subjects must not be corrected",
      );
    },
  },
  {
    name: "[O-07] corrections converge: again under the same key, and one after the other",
    async show(trial) {
      const [ref, key] = [await trial.plant(), newKey()];
      const categories = trial.corrections.map(({ category }) => category);
      const right = trial.corrections.map(({ value }) => String(value));
      await rectify(trial, ref, trial.corrections, key, 1);
      await rectify(trial, ref, trial.corrections, key, 2);
      assert.deepEqual(
        await reads(trial, ref, categories),
        right,
        "the second call must come to the same end",
      );
      for (const correction of trial.corrections) await rectify(trial, ref, [correction], newKey());
      assert.deepEqual(await reads(trial, ref, categories), right, "correcting one must keep the others");
    },
  },
  {
    name: "[O-07] correcting a subject whom the system does not know is success, and creates no subject",
    async show(trial) {
      const ref = await trial.unknown();
      await rectify(trial, ref, trial.corrections, newKey());
      assert.ok(!(await trial.holds(ref)), "a correction must not make the system hold the subject");
      const erased = await trial.plant();
      await erase(trial, erased, callWith(newKey()));
      await rectify(trial, erased, trial.corrections, newKey());
      assert.ok(!(await trial.holds(erased)), "a correction must not bring an erased subject back");
    },
  },
];

export const verifyCases: readonly ResolverCase[] = [
  {
    name: "[O-12] verifying tells the truth before and after, and changes nothing",
    async show(trial) {
      const { resolver } = trial;
      assert.ok(canVerify(resolver), "the resolver has no verifyAbsent");
      const ref = await trial.plant();
      const before: unknown = await resolver.verifyAbsent(ref, callWith(newKey()));
      assert.equal(before, false, "verifyAbsent must say false while the system holds the subject");
      assert.ok(await trial.holds(ref), "verifying must not erase");
      await erase(trial, ref, callWith(newKey()));
      const after: unknown = await resolver.verifyAbsent(ref, callWith(newKey()));
      assert.equal(after, true, "verifyAbsent must say true once the subject is erased");
      const unknown: unknown = await resolver.verifyAbsent(await trial.unknown(), callWith(newKey()));
      assert.equal(unknown, true, "verifyAbsent must say true of a subject whom the system has never known");
    },
  },
];

export const expiryCases: readonly ResolverCase[] = [
  {
    name: "[O-06] a retention-only resolver has no eraseSubject",
    async show({ resolver }) {
      assert.ok(!canErase(resolver), "a resolver that can erase must not say that it can only schedule");
    },
  },
  {
    name: "[O-11] what is held has a horizon in the future, and asking again does not put it off",
    async show(trial) {
      const [ref, key] = [await trial.plant(), newKey()];
      const first = await erase(trial, ref, callWith(key, 1));
      assert.ok(first.expiresAt, "a subject that is held must have a horizon");
      const horizon = first.expiresAt.getTime();
      assert.ok(horizon > trial.nowMs(), "the horizon must be in the future while the data is held");
      await trial.wait(20);
      const again = await erase(trial, ref, callWith(key, 2));
      const putOffMs = (again.expiresAt?.getTime() ?? horizon) - horizon;
      assert.ok(putOffMs <= 0, `asking again must not put the horizon off (by ${putOffMs} ms here)`);
    },
  },
  {
    name: "[O-11] once the data has expired it is absent",
    async show(trial) {
      const [ref, key] = [await trial.plant(), newKey()];
      await erase(trial, ref, callWith(key, 1));
      await trial.expire(ref);
      assert.ok(!(await trial.holds(ref)), "expire() must end the retention");
      const { wasAbsent } = await erase(trial, ref, callWith(key, 1));
      assert.ok(wasAbsent, "expired data must be answered with alreadyAbsent: true");
    },
  },
];
