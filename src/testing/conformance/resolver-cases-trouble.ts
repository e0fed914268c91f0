/** Systems that are down, refuse or hang, and aborted calls: K-08, K-15, K-16, O-08, O-09. */
import assert from "node:assert/strict";
import { callWith, erase, fails, newKey, type ResolverCase } from "./resolver-trial.ts";

export const abortCases: readonly ResolverCase[] = [
  {
    name: "[O-06] a call whose signal has fired already does nothing, and is no success",
    async show(trial) {
      const ref = await trial.plant();
      const call = callWith(newKey(), 1, AbortSignal.abort());
      const [outcome] = await Promise.allSettled([erase(trial, ref, call)]);
      assert.equal(outcome?.status, "rejected", "a call whose signal has fired must reject");
      assert.ok(await trial.holds(ref), "a call whose signal has fired must not erase");
    },
  },
];

export const faultCases: readonly ResolverCase[] = [
  {
    name: "[K-15][K-16] a system that is down is a transient failure, and the same key succeeds once it is up",
    async show(trial) {
      const [ref, key] = [await trial.plant(), newKey()];
      await trial.fault("down");
      await fails("a system that is down", "transient", ref, () => erase(trial, ref, callWith(key, 1)));
      await trial.fault(undefined);
      await erase(trial, ref, callWith(key, 2));
    },
  },
  {
    name: "[O-08][K-16] a system that refuses is a permanent failure",
    async show(trial) {
      const ref = await trial.plant();
      await trial.fault("refuses");
      await fails("a refusal", "permanent", ref, () => erase(trial, ref, callWith(newKey())));
      await trial.fault(undefined);
      assert.ok(await trial.holds(ref), "a refused erasure must not have erased");
    },
  },
  {
    name: "[O-06][K-08] a call ends when its signal fires, though the system hangs, and the same key succeeds later",
    async show(trial) {
      const [ref, key] = [await trial.plant(), newKey()];
      await trial.fault("hangs");
      const controller = new AbortController();
      const ended = Promise.allSettled([erase(trial, ref, callWith(key, 1, controller.signal))]);
      await trial.wait(20);
      controller.abort();
      const [outcome] = await ended;
      assert.equal(outcome?.status, "rejected", "a call that was aborted must reject");
      await trial.fault(undefined);
      await erase(trial, ref, callWith(key, 2));
    },
  },
];
