/** A suite that everything passes is worth nothing: each resolver here has one fault, and the suite must name it. */
import {
  expiringMemoryResolver,
  memoryResolver,
  resolverConformance,
  type MakeResolver,
  type MemoryResolver,
  type ResolverConformanceOptions,
  type ResolverFault,
  type ResolverTrial,
} from "amends/testing";
import { expect, it } from "vitest";
import { ResolverError, type AnyResolver, type ResolverCall } from "../../src/erasure/remote/resolver.ts";

interface Fault {
  readonly fault: string;
  /** Part of the name of the case that must fail, and of what it must say. */
  readonly fails: string;
  readonly says: RegExp;
  /** Breaks a resolver that conforms. */
  readonly make: (good: MemoryResolver) => Partial<MemoryResolver>;
}

const call = (given: ResolverCall): ResolverCall => ({ ...given, signal: new AbortController().signal });

const FAULTS: readonly Fault[] = [
  {
    fault: "an absent subject that is an error",
    fails: "] a subject whom the system does not know",
    says: /no such person/,
    make: (good) => ({
      async eraseSubject(ref, given) {
        if (!good.get(ref.value)) throw new ResolverError("not-found", "no such person");
        return good.eraseSubject(ref, given);
      },
    }),
  },
  {
    fault: "an absent subject that is not said to be absent",
    fails: "] a subject whom the system does not know",
    says: /alreadyAbsent: true/,
    make: (good) => ({ eraseSubject: async (ref, given) => (await good.eraseSubject(ref, given)) && {} }),
  },
  {
    fault: "a second call that is an error",
    fails: "the same call twice, under the same key",
    says: /key was used/,
    make: (good) => ({
      async eraseSubject(ref, given) {
        if (good.callsUnder(given.key).length > 0) throw new ResolverError("used", "key was used");
        return good.eraseSubject(ref, given);
      },
    }),
  },
  {
    fault: "a second call that takes somebody else along",
    fails: "the same call twice, under the same key",
    says: /second call must leave the others/,
    make: (good) => ({
      async eraseSubject(ref, given) {
        if (given.attempt > 1) await good.eraseSubject({ ...ref, value: "p-2" }, given);
        return good.eraseSubject(ref, given);
      },
    }),
  },
  {
    fault: "two calls at once that undo each other",
    fails: "the same call twice at once",
    says: /two calls at once must end like one/,
    make: (good) => {
      let running = 0;
      return {
        async eraseSubject(ref, given) {
          running += 1;
          const isAlone = running === 1;
          await new Promise((resolve) => setImmediate(resolve));
          const answer = await good.eraseSubject(ref, given);
          if (!isAlone) good.put(ref.value);
          return answer;
        },
      };
    },
  },
  {
    fault: "an erasure that erases nothing",
    fails: "what the system holds is erased",
    says: /must not hold the subject/,
    make: () => ({ eraseSubject: async () => ({}) }),
  },
  {
    fault: "an erasure that erases everybody",
    fails: "other subjects are not touched",
    says: /must leave the others/,
    make: (good) => ({
      async eraseSubject(_, given) {
        for (const value of ["p-1", "p-2"]) await good.eraseSubject({ kind: "people", value }, given);
        return {};
      },
    }),
  },
  {
    fault: "an erasure under another key that is an error",
    fails: "erasing again under another key",
    says: /gone already/,
    make: (good) => {
      const keys = new Map<string, string>();
      return {
        async eraseSubject(ref, given) {
          const first = keys.get(ref.value) ?? given.key;
          keys.set(ref.value, first);
          if (first !== given.key) throw new ResolverError("gone", "gone already");
          return good.eraseSubject(ref, given);
        },
      };
    },
  },
  {
    fault: "an answer that is no object",
    fails: "what the system holds is erased",
    says: /must answer with an object/,
    make: () => ({ eraseSubject: async () => undefined as never }),
  },
  {
    fault: "an answer that is no boolean",
    fails: "] a subject whom the system does not know",
    says: /alreadyAbsent must be true or false/,
    make: () => ({ eraseSubject: async () => ({ alreadyAbsent: "yes" }) as never }),
  },
  {
    fault: "a resolver without a name",
    fails: "has a name",
    says: /must be a text/,
    make: () => ({ name: "" }),
  },
  {
    fault: "a correction that is not made",
    fails: "a correction is made",
    says: /email must be corrected/,
    make: () => ({ rectifySubject: async () => ({}) }),
  },
  {
    fault: "a correction that clears the rest",
    fails: "a correction is made",
    says: /what is not corrected must stay/,
    make: (good) => ({
      async rectifySubject(ref, corrections) {
        good.put(ref.value, Object.fromEntries(corrections.map((one) => [one.category, one.value])));
        return {};
      },
    }),
  },
  {
    fault: "a correction for everybody",
    fails: "a correction is made",
    says: /other subjects must not be corrected/,
    make: (good) => ({
      async rectifySubject(ref, corrections, given) {
        await good.rectifySubject({ ...ref, value: "p-2" }, corrections, given);
        return good.rectifySubject(ref, corrections, given);
      },
    }),
  },
  {
    fault: "a correction that adds up",
    fails: "corrections converge",
    says: /the second call must come to the same end/,
    make: (good) => ({
      rectifySubject: (ref, corrections, given) =>
        good.rectifySubject(
          ref,
          corrections.map((one) => ({ ...one, value: `${one.value}${given.attempt > 1 ? "!" : ""}` })),
          given,
        ),
    }),
  },
  {
    fault: "a correction that creates people",
    fails: "creates no subject",
    says: /must not make the system hold the subject/,
    make: (good) => ({
      async rectifySubject(ref) {
        good.put(ref.value);
        return {};
      },
    }),
  },
  {
    fault: "a verification that believes what it hopes",
    fails: "verifying tells the truth",
    says: /must say false while/,
    make: () => ({ verifyAbsent: async () => true }),
  },
  {
    fault: "a verification that never believes",
    fails: "verifying tells the truth",
    says: /must say true once/,
    make: () => ({ verifyAbsent: async () => false }),
  },
  {
    fault: "a verification that erases",
    fails: "verifying tells the truth",
    says: /verifying must not erase/,
    make: (good) => ({
      async verifyAbsent(ref, given) {
        return (await good.eraseSubject(ref, given)).alreadyAbsent === true;
      },
    }),
  },
  {
    fault: "a signal that is not looked at",
    fails: "signal has fired already",
    says: /signal has fired must reject/,
    make: (good) => ({ eraseSubject: (ref, given) => good.eraseSubject(ref, call(given)) }),
  },
  {
    fault: "a signal that is looked at too late",
    fails: "signal has fired already",
    says: /signal has fired must not erase/,
    make: (good) => ({
      async eraseSubject(ref, given) {
        const answer = await good.eraseSubject(ref, call(given));
        given.signal.throwIfAborted();
        return answer;
      },
    }),
  },
  {
    fault: "a call that hangs on after its signal",
    fails: "a call ends when its signal fires",
    says: /did not answer within 300 ms/,
    make: (good) => ({
      async eraseSubject(ref, given) {
        given.signal.throwIfAborted();
        return good.eraseSubject(ref, call(given));
      },
    }),
  },
  {
    fault: "an outage that is taken for good",
    fails: "a system that is down",
    says: /must be transient: throw anything but a ResolverError; its label is failed/,
    make: (good) => ({
      eraseSubject: (ref, given) =>
        good.eraseSubject(ref, given).catch(() => Promise.reject(new ResolverError("failed"))),
    }),
  },
  {
    fault: "an outage that is taken for success",
    fails: "a system that is down",
    says: /answered as a success/,
    make: (good) => ({ eraseSubject: (ref, given) => good.eraseSubject(ref, given).catch(() => ({})) }),
  },
  {
    fault: "an outage that makes the key useless",
    fails: "a system that is down",
    says: /never again/,
    make: (good) => ({
      async eraseSubject(ref, given) {
        if (good.callsUnder(given.key).length > 0) throw new Error("never again");
        return good.eraseSubject(ref, given);
      },
    }),
  },
  {
    fault: "a refusal that is taken for an outage",
    fails: "a system that refuses",
    says: /must be permanent: throw a ResolverError/,
    make: (good) => ({
      eraseSubject: (ref, given) =>
        good.eraseSubject(ref, given).catch(() => Promise.reject(new TypeError("again"))),
    }),
  },
  {
    fault: "an error that tells nothing",
    fails: "a system that is down",
    says: /must have a meaningful label.*this one's is Error/,
    make: (good) => ({
      eraseSubject: (ref, given) =>
        good.eraseSubject(ref, given).catch(() => Promise.reject(new Error("down"))),
    }),
  },
  {
    fault: "a label that names the subject",
    fails: "a system that refuses",
    says: /must not name the subject/,
    make: (good) => ({
      eraseSubject: (ref, given) =>
        good.eraseSubject(ref, given).catch(() => Promise.reject(new ResolverError(`no:${ref.value}`))),
    }),
  },
];

const OPTIONS: ResolverConformanceOptions = {
  corrections: [
    { category: "email", value: "right@example.com" },
    { category: "phone", value: "1" },
  ],
  verifies: true,
};

function trialOf(good: MemoryResolver, resolver: AnyResolver): ResolverTrial {
  let count = 0;
  return {
    resolver,
    plant: async () => {
      good.put(`p-${(count += 1)}`, { email: "wrong@example.com", phone: "0" });
      return { kind: "people", value: `p-${count}` };
    },
    unknown: async () => ({ kind: "people", value: "nobody" }),
    holds: async ({ value }) => good.get(value) !== undefined,
    read: async ({ value }, category) => good.get(value)?.[category],
    async fault(fault: ResolverFault | undefined) {
      if (fault === undefined) good.comeBack();
      else if (fault === "down") good.goDown();
      else good.goDown(fault === "hangs" ? { hangs: true } : { throws: new ResolverError("not-permitted") });
    },
    close: async () => undefined,
  };
}

const making =
  (make: (good: MemoryResolver) => Partial<MemoryResolver>): MakeResolver =>
  async () => {
    const good = memoryResolver("people");
    return trialOf(good, { ...good, ...make(good) });
  };

for (const { fault, fails, says, make } of FAULTS) {
  it(`[T-03][E-12] the suite finds ${fault}`, async () => {
    const limitMs = says.source.includes("300 ms") ? 300 : 10_000;
    const cases = resolverConformance(making(make), { ...OPTIONS, limitMs });
    const found = cases.filter(({ name }) => name.includes(fails));
    expect(found).toHaveLength(1);
    await expect(found[0]?.run()).rejects.toThrow(says);
  });
}

it("[T-03] every case has a resolver that it finds out", () => {
  const covered = new Set(FAULTS.map(({ fails }) => fails));
  const names = resolverConformance(
    making(() => ({})),
    OPTIONS,
  ).map(({ name }) => name);
  const missed = names.filter((name) => ![...covered].some((part) => name.includes(part)));
  expect(missed).toEqual(["[E-12] the resolver can do what is said of it, and nothing that is not said"]);
});

it("[T-03] the resolver that the faulty ones are made of has no fault", async () => {
  const cases = resolverConformance(
    making(() => ({})),
    OPTIONS,
  );
  await expect(Promise.all(cases.map(({ run }) => run()))).resolves.toHaveLength(cases.length);
});

it("[T-03] what a resolver can do must be said, and what is said must be there", async () => {
  const named = (make: MakeResolver, options: ResolverConformanceOptions): Promise<void> | undefined =>
    resolverConformance(make, options)
      .find(({ name }) => name.includes("what is said of it"))
      ?.run();
  const whole = making(() => ({}));
  const bare: MakeResolver = async () => {
    const good = memoryResolver("people");
    return trialOf(good, { name: "people", eraseSubject: good.eraseSubject });
  };
  const { corrections } = OPTIONS;
  await expect(named(whole, OPTIONS)).resolves.toBeUndefined();
  await expect(named(bare, {})).resolves.toBeUndefined();
  await expect(named(whole, { verifies: true })).rejects.toThrow(/has rectifySubject: give corrections/);
  await expect(named(whole, corrections ? { corrections } : {})).rejects.toThrow(/has verifyAbsent/);
  await expect(named(bare, { verifies: true })).rejects.toThrow(/has no verifyAbsent/);
  await expect(named(bare, corrections ? { corrections } : {})).rejects.toThrow(/has no rectifySubject/);
  await expect(named(bare, { retentionOnly: true })).rejects.toThrow(/has no scheduleErasure/);
});

it("[T-03][O-11] the suite finds horizons that are past, put off, or no dates, and data that never expires", async () => {
  const day = 86_400_000;
  const run = async (schedule: (asked: number) => unknown, part: string): Promise<void> => {
    let asked = 0;
    const logs = expiringMemoryResolver("logs", { keeps: "1d" });
    const cases = resolverConformance(
      async () => ({
        resolver: { name: "logs", scheduleErasure: async () => schedule((asked += 1)) as never },
        plant: async () => {
          logs.put("p-1");
          return { kind: "logs", value: "p-1" };
        },
        unknown: async () => ({ kind: "logs", value: "nobody" }),
        holds: async () => part.includes("horizon"),
        expire: async () => undefined,
        close: async () => undefined,
      }),
      { retentionOnly: true, hasFaults: false },
    );
    await cases.find(({ name }) => name.includes(part))?.run();
  };
  const horizon = "a horizon in the future";
  const future = Date.now() + day;
  await expect(run(() => ({ expiresAt: new Date(future) }), horizon)).resolves.toBeUndefined();
  await expect(run(() => ({ expiresAt: new Date(0) }), horizon)).rejects.toThrow(/must be in the future/);
  await expect(run((asked) => ({ expiresAt: new Date(future + asked) }), horizon)).rejects.toThrow(/put/);
  await expect(run(() => ({ expiresAt: new Date(Number.NaN) }), horizon)).rejects.toThrow(/valid Date/);
  await expect(run(() => ({ expiresAt: "2040-01-01" }), horizon)).rejects.toThrow(/valid Date/);
  await expect(run(() => ({ alreadyAbsent: true }), horizon)).rejects.toThrow(/must have a horizon/);
  await expect(run(() => ({ expiresAt: new Date(future) }), "once the data has expired")).rejects.toThrow(
    /alreadyAbsent: true/,
  );
});

it("[T-03] a trial that lacks something says what the suite needs of it", async () => {
  const cases = resolverConformance(async () => {
    const good = memoryResolver("people");
    const { resolver, plant, unknown, holds, close } = trialOf(good, good);
    return { resolver, plant, unknown, holds, close };
  }, OPTIONS);
  const part = (text: string): Promise<void> | undefined =>
    cases.find(({ name }) => name.includes(text))?.run();
  await expect(part("corrections converge")).rejects.toThrow(/needs read\(\)/);
  await expect(part("a system that is down")).rejects.toThrow(/needs fault\(\)/);
});

it("[T-03] every case closes what it made, however it ends", async () => {
  let open = 0;
  const cases = resolverConformance(async () => {
    open += 1;
    const good = memoryResolver("people");
    const broken = { ...good, verifyAbsent: () => Promise.reject(new Error("broken")) };
    return { ...trialOf(good, broken), close: async () => void (open -= 1) };
  }, OPTIONS);
  const results = await Promise.allSettled(cases.map(({ run }) => run()));
  expect(open).toBe(0);
  expect(new Set(results.map(({ status }) => status))).toEqual(new Set(["fulfilled", "rejected"]));
});
