import { virtualClock } from "amends/testing";
import { expect, it } from "vitest";
import { Call, type CallLimits } from "../../src/runtime/call.ts";
import { Lease } from "../../src/runtime/lease.ts";

interface Answer {
  readonly text: string;
  readonly late?: Promise<Answer>;
}

/** A call that the test answers, and what its caller got. */
function pending(call: Call<Answer>, limits: CallLimits) {
  let answer: (text: string) => void = () => undefined;
  const answered = new Promise<Answer>((resolve) => (answer = (text) => resolve({ text })));
  const got: Answer[] = [];
  void call.within(limits, answered, (late) => ({ text: "overdue", late })).then((one) => got.push(one));
  return { answer, got };
}

it("[S-12][S-21] a call whose time is over is told, and what it answers within its grace period counts", async () => {
  const clock = virtualClock();
  const call = new Call<Answer>();
  const { answer, got } = pending(call, { clock, timeoutMs: 1_000, graceMs: 500 });
  await clock.advance(999);
  expect(call.stopReason).toBeUndefined();
  await clock.advance(1);
  expect(call.stopReason).toBe("timeout");
  expect(call.signal.reason).toMatchObject({ name: "AbortError", message: "amends: timeout" });
  await clock.advance(499);
  answer("just in time");
  await clock.advance(1_000);
  expect(got).toEqual([{ text: "just in time" }]);
});

it("[S-12] after its grace period a call is overdue: its caller goes on, and has the promise of its answer", async () => {
  const clock = virtualClock();
  const { answer, got } = pending(new Call<Answer>(), { clock, deadlineMs: 1_000, graceMs: 500 });
  await clock.advance(1_500);
  expect(got).toMatchObject([{ text: "overdue" }]);
  answer("at last");
  await expect(got[0]?.late).resolves.toEqual({ text: "at last" });
});

it("[S-12] without a grace period the answer is waited for, however late it is", async () => {
  const clock = virtualClock();
  const call = new Call<Answer>();
  const { answer, got } = pending(call, { clock, timeoutMs: 1_000, graceMs: undefined });
  await clock.advance(1_000_000);
  expect([call.stopReason, got]).toEqual(["timeout", []]);
  answer("at last");
  await clock.advance(0);
  expect(got).toEqual([{ text: "at last" }]);
});

it("[S-12] no limit of a call that has answered strikes afterwards", async () => {
  const clock = virtualClock();
  const call = new Call<Answer>();
  const { answer } = pending(call, { clock, timeoutMs: 1_000, deadlineMs: 2_000, graceMs: 500 });
  answer("at once");
  await clock.advance(10);
  expect(await clock.advanceToNext()).toBe(false);
  expect(call.stopReason).toBeUndefined();
});

it("[K-08][K-18] a loss and a shutdown hold for every call that begins after them, and no other reason does", () => {
  for (const reason of ["lost", "shutdown"] as const) expect(new Call(reason).signal.aborted).toBe(true);
  for (const reason of ["timeout", "deadline", "cancelled", undefined] as const)
    expect(new Call(reason).stopReason).toBeUndefined();
});

it("[K-08] a call under a claim is told of what happens to the claim, and the first reason counts", () => {
  const lease = new Lease(0);
  const call = Call.under(lease);
  lease.stop("shutdown");
  lease.stop("lost");
  expect([call.stopReason, call.signal.aborted, Call.under(lease).stopReason]).toEqual([
    "shutdown",
    true,
    "lost",
  ]);
});
