/** Erasing once, repeatedly, concurrently and for unknown subjects: O-07 and E-12, for resolvers of every kind. */
import assert from "node:assert/strict";
import { callWith, canErase, erase, newKey, type ResolverCase } from "./resolver-trial.ts";

export const eraseCases: readonly ResolverCase[] = [
  {
    name: "[E-12] a resolver has a name of at most 255 characters",
    async show({ resolver: { name } }) {
      assert.ok(typeof name === "string" && name !== "" && name.length <= 255, "the name must be a text");
    },
  },
  {
    name: "[O-07] a subject whom the system does not know is success",
    async show(trial) {
      const { wasAbsent } = await erase(trial, await trial.unknown(), callWith(newKey()));
      assert.ok(wasAbsent, "an unknown subject must be answered with alreadyAbsent: true");
    },
  },
  {
    name: "[E-12] other subjects are not touched",
    async show(trial) {
      const [one, other] = [await trial.plant(), await trial.plant()];
      await erase(trial, one, callWith(newKey()));
      assert.ok(await trial.holds(other), "erasing one subject must leave the others");
    },
  },
  {
    name: "[E-12] the same call twice, under the same key, comes to the same end",
    async show(trial) {
      const [ref, other, key] = [await trial.plant(), await trial.plant(), newKey()];
      await erase(trial, ref, callWith(key, 1));
      const held = await trial.holds(ref);
      await erase(trial, ref, callWith(key, 2));
      assert.equal(await trial.holds(ref), held, "the second call must change nothing");
      assert.ok(await trial.holds(other), "the second call must leave the others");
    },
  },
  {
    name: "[E-12] the same call twice at once, under the same key, comes to the same end",
    async show(trial) {
      const [ref, key] = [await trial.plant(), newKey()];
      const calls = await Promise.allSettled([1, 2].map((n) => erase(trial, ref, callWith(key, n))));
      if (calls.some(({ status }) => status === "rejected")) await erase(trial, ref, callWith(key, 3));
      assert.ok(
        calls.some(({ status }) => status === "fulfilled"),
        "of two calls at once at least one must succeed",
      );
      assert.equal(await trial.holds(ref), !canErase(trial.resolver), "two calls at once must end like one");
    },
  },
];

export const plainCases: readonly ResolverCase[] = [
  {
    name: "[O-07] what the system holds is erased",
    async show(trial) {
      const ref = await trial.plant();
      assert.ok(await trial.holds(ref), "plant() must make the system hold the subject");
      await erase(trial, ref, callWith(newKey()));
      assert.ok(!(await trial.holds(ref)), "after a successful erasure the system must not hold the subject");
    },
  },
  {
    name: "[E-12] erasing again under another key is success",
    async show(trial) {
      const ref = await trial.plant();
      await erase(trial, ref, callWith(newKey()));
      await erase(trial, ref, callWith(newKey()));
      assert.ok(!(await trial.holds(ref)), "the subject must stay absent");
    },
  },
];
