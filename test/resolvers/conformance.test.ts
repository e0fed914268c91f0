import {
  expiringMemoryResolver,
  memoryResolver,
  resolverConformance,
  virtualClock,
  type MakeResolver,
  type MemoryScript,
  type ResolverConformanceOptions,
  type ResolverFault,
  type ResolverTrial,
} from "amends/testing";
import { describe, expect, it } from "vitest";
import { ResolverError } from "../../src/erasure/remote/resolver.ts";
import { httpResolver } from "../../src/resolvers/http.ts";
import { stripeResolver } from "../../src/resolvers/stripe.ts";
import { fakeStripe } from "./support/fake-stripe.ts";
import { logService, peopleService } from "./support/people-service.ts";

const CORRECTIONS = [
  { category: "email", value: "right@example.com" },
  { category: "phone", value: "+44 20 7946 0000" },
] as const;

function conforms(make: MakeResolver, options: ResolverConformanceOptions): void {
  const cases = resolverConformance(make, options).map(({ name, run }) => [name, run] as const);
  it.each(cases)("[T-03]%s", async (_, run) => {
    await expect(run()).resolves.toBeUndefined();
  });
}

function faultOf(script: MemoryScript, fault: ResolverFault | undefined): void {
  if (fault === undefined) script.comeBack();
  else if (fault === "hangs") script.goDown({ hangs: true });
  else script.goDown(fault === "refuses" ? { throws: new ResolverError("not-permitted") } : undefined);
}

const RECORD = { email: "wrong@example.com", phone: "+44 20 7946 9999", name: "Ann" };

describe("memoryResolver", () => {
  conforms(
    async () => {
      const resolver = memoryResolver("people");
      let count = 0;
      return {
        resolver,
        plant: async () => {
          resolver.put(`p-${(count += 1)}`, RECORD);
          return { kind: "people", value: `p-${count}` };
        },
        unknown: async () => ({ kind: "people", value: "nobody" }),
        holds: async ({ value }) => resolver.get(value) !== undefined,
        read: async ({ value }, category) => resolver.get(value)?.[category],
        fault: async (fault) => faultOf(resolver, fault),
        close: async () => undefined,
      };
    },
    { corrections: CORRECTIONS, verifies: true },
  );
});

describe("expiringMemoryResolver", () => {
  const clock = virtualClock();
  conforms(
    async () => {
      const resolver = expiringMemoryResolver("logs", { keeps: "30d", clock });
      let count = 0;
      return {
        resolver,
        plant: async () => {
          resolver.put(`p-${(count += 1)}`, RECORD);
          return { kind: "logs", value: `p-${count}` };
        },
        unknown: async () => ({ kind: "logs", value: "nobody" }),
        holds: async ({ value }) => resolver.get(value) !== undefined,
        expire: () => clock.advance(30 * 86_400_000),
        fault: async (fault) => faultOf(resolver, fault),
        close: async () => undefined,
      };
    },
    { retentionOnly: true, wait: (ms) => clock.advance(ms), nowMs: clock.virtualNowMs },
  );
});

describe("stripeResolver, with the real client", () => {
  const make = async (): Promise<ResolverTrial> => {
    const stripe = await fakeStripe();
    let count = 0;
    return {
      resolver: stripeResolver(stripe.client()),
      plant: async () => {
        const id = `cus_${(count += 1)}`;
        stripe.customers.set(id, { id, object: "customer", ...RECORD });
        return { kind: "stripe", value: id };
      },
      unknown: async () => ({ kind: "stripe", value: "cus_nobody" }),
      holds: async ({ value }) => {
        const found = stripe.customers.get(value);
        return found !== undefined && found.deleted !== true;
      },
      read: async ({ value }, category) => String(stripe.customers.get(value)?.[category]),
      fault: async (fault) => stripe.fault(fault),
      close: () => stripe.close(),
    };
  };
  conforms(make, { corrections: CORRECTIONS, verifies: true });
});

describe("httpResolver", () => {
  conforms(
    async () => {
      const service = await peopleService();
      const url = `${service.url}/people/{value}`;
      let count = 0;
      return {
        resolver: httpResolver({ name: "people", erase: { url }, rectify: { url }, verify: { url } }),
        plant: async () => {
          const value = `p ${(count += 1)}/ä`;
          service.people.set(value, RECORD);
          return { kind: "people", value };
        },
        unknown: async () => ({ kind: "people", value: "nobody" }),
        holds: async ({ value }) => service.people.has(value),
        read: async ({ value }, category) => String(service.people.get(value)?.[category]),
        fault: async (fault) => service.fault(fault),
        close: () => service.close(),
      };
    },
    { corrections: CORRECTIONS, verifies: true },
  );
});

describe("httpResolver for a system that can only let things expire", () => {
  const clock = virtualClock();
  const nowMs = clock.virtualNowMs;
  conforms(
    async () => {
      const service = await logService(nowMs);
      let count = 0;
      return {
        resolver: httpResolver({
          name: "logs",
          schedule: { url: `${service.url}/logs/{value}`, expiresAt: "data.expires_at" },
        }),
        plant: async () => {
          const value = `p-${(count += 1)}`;
          service.people.set(value, { expires_at: new Date(nowMs() + 86_400_000).toISOString() });
          return { kind: "logs", value };
        },
        unknown: async () => ({ kind: "logs", value: "nobody" }),
        holds: async ({ value }) => {
          const found = service.people.get(value);
          return found !== undefined && Date.parse(String(found["expires_at"])) > nowMs();
        },
        expire: () => clock.advance(86_400_000),
        fault: async (fault) => service.fault(fault),
        close: () => service.close(),
      };
    },
    { retentionOnly: true, wait: (ms) => clock.advance(ms), nowMs },
  );
});
