import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  AmendsError,
  classify,
  errorLabel,
  RETRY_LATER_MAX_MS,
  RetryLater,
  SagaConcurrencyError,
  Terminal,
  waitAfter,
} from "../../src/core/errors.ts";

const CANARY = "canary-7f3a";

class CardDeclined extends Error {}

function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

/** Things that fight back when they are looked at. */
const hostile: readonly [string, unknown][] = [
  ["a revoked proxy", revoked()],
  [
    "a getter that throws",
    {
      get code(): never {
        throw new Error(CANARY);
      },
    },
  ],
  [
    "a constructor that throws",
    {
      get constructor(): never {
        throw new Error(CANARY);
      },
    },
  ],
  [
    "a proxy without a prototype to show",
    new Proxy(
      {},
      {
        getPrototypeOf: () => {
          throw new Error(CANARY);
        },
      },
    ),
  ],
  [
    "a proxy that answers every question by throwing",
    new Proxy(
      {},
      {
        get: () => {
          throw new Error(CANARY);
        },
      },
    ),
  ],
];

describe("labels", () => {
  it("[K-16] a registered code comes first, the platform's or the user's own", () => {
    const refused = Object.assign(new Error(CANARY), { code: "ECONNREFUSED" });
    expect(errorLabel(refused)).toBe("ECONNREFUSED");
    expect(errorLabel(Object.assign(new Error(CANARY), { code: "40001" }))).toBe("40001");
    const own = Object.assign(new CardDeclined(CANARY), { code: "card_declined" });
    expect(errorLabel(own)).toBe("CardDeclined");
    expect(errorLabel(own, new Set(["card_declined"]))).toBe("card_declined");
  });

  it("[K-16] a code that nobody registered may carry anything, and is not used", () => {
    expect(errorLabel(Object.assign(new Error(), { code: CANARY }))).toBe("Error");
    expect(errorLabel({ code: "ECONNREFUSED" })).toBe("ECONNREFUSED");
    expect(errorLabel({ code: CANARY })).toBe("UnknownError");
  });

  it("[K-16] Terminal and AmendsError show their code, a subclass too", () => {
    class Fatal extends Terminal {}
    expect(errorLabel(new Terminal("account-closed", CANARY))).toBe("account-closed");
    expect(errorLabel(new Fatal("account-closed", CANARY))).toBe("account-closed");
    expect(errorLabel(new AmendsError("BAD_ID", CANARY))).toBe("BAD_ID");
    expect(errorLabel(new Terminal(`mail ${CANARY}@example.com`))).toBe("Terminal");
    expect(errorLabel(new Terminal("x".repeat(256)))).toBe("Terminal");
    expect(errorLabel(new Terminal(""))).toBe("Terminal");
  });

  it("[K-16] otherwise it is the class, where that is a plain identifier of at most 255 characters", () => {
    expect(errorLabel(new CardDeclined(CANARY))).toBe("CardDeclined");
    expect(errorLabel(new TypeError(CANARY))).toBe("TypeError");
    const named = (name: string): unknown => {
      const Made = class extends Error {};
      Object.defineProperty(Made, "name", { value: name });
      return new Made(CANARY);
    };
    expect(errorLabel(named("x".repeat(255)))).toBe("x".repeat(255));
    for (const name of ["", "x".repeat(256), "a b", "1a", "ä", `${CANARY}@example.com`, "a\nb"]) {
      expect([name.length, errorLabel(named(name))]).toEqual([name.length, "UnknownError"]);
    }
    expect(errorLabel(new (class extends Error {})(CANARY))).toBe("UnknownError");
  });

  it("[K-16] the name that an instance gives itself is not its class", () => {
    const renamed = new Error("x");
    renamed.name = CANARY;
    expect(errorLabel(renamed)).toBe("Error");
  });

  it.each([
    CANARY,
    "",
    42,
    null,
    undefined,
    true,
    Symbol(CANARY),
    1n,
    {},
    Object.create(null),
    { name: CANARY },
    [CANARY].values(),
  ])("[K-16] what is no error has no label of its own (%#)", (thrown) => {
    expect(["UnknownError", "Object"]).toContain(errorLabel(thrown));
    expect(errorLabel(thrown)).not.toContain(CANARY);
  });

  it.each(hostile)("[K-16] %s is an UnknownError", (_, thrown) => {
    expect(errorLabel(thrown)).not.toContain(CANARY);
    expect(errorLabel(thrown)).toMatch(/^[A-Za-z]+$/);
  });

  it("[K-16] no message ever becomes a label", () => {
    fc.assert(
      fc.property(fc.string({ minLength: 6 }), (message) => {
        for (const thrown of [new Error(message), new CardDeclined(message), message, { message }]) {
          expect(["Error", "CardDeclined", "UnknownError"]).toContain(errorLabel(thrown));
        }
      }),
    );
  });
});

describe("the taxonomy", () => {
  it("[K-15] Terminal is permanent, and so is a call that Amends refused", () => {
    expect(classify(new Terminal("no"))).toBe("permanent");
    expect(classify(new (class extends Terminal {})("no"))).toBe("permanent");
    for (const code of ["BAD_INPUT", "SAGA_CONFLICT", "NEEDS_TRANSACTION", "UNKNOWN_SAGA"] as const) {
      expect(classify(new AmendsError(code, ""))).toBe("permanent");
    }
  });

  it("[K-15] anything else is transient, refusals that pass by themselves included", () => {
    expect(classify(new AmendsError("DATABASE_UNREACHABLE", ""))).toBe("transient");
    expect(classify(new AmendsError("DATABASE_READ_ONLY", ""))).toBe("transient");
    expect(classify(new SagaConcurrencyError("s", 1, 2))).toBe("transient");
    for (const thrown of [new Error("x"), "x", 1, null, undefined, {}, { name: "Terminal", code: "no" }]) {
      expect(classify(thrown)).toBe("transient");
    }
  });

  it.each(hostile)("[K-15] %s is transient, and does not throw through", (_, thrown) => {
    expect(classify(thrown)).toBe("transient");
  });

  it("[K-15] anything at all has a label and a class", () => {
    fc.assert(
      fc.property(fc.anything(), (thrown) => {
        expect(errorLabel(thrown)).toMatch(/^[\w$.:-]{1,255}$/);
        expect(classify(thrown)).toBe("transient");
      }),
    );
  });

  it("[K-15][K-16] RetryLater is transient, and its code is its label", () => {
    class Busy extends RetryLater {}
    expect(classify(new RetryLater("rate-limited", CANARY))).toBe("transient");
    expect(errorLabel(new Busy("rate-limited", CANARY))).toBe("rate-limited");
    expect(errorLabel(new RetryLater(`mail ${CANARY}@example.com`))).toBe("RetryLater");
  });

  it("[K-01] a wait that the other side asked for lengthens the schedule's, within bounds, and never shortens it", () => {
    const asking = (afterMs?: number): RetryLater => new RetryLater("busy", "", { afterMs });
    expect(waitAfter(asking(90_000), 30_000)).toBe(90_000);
    expect(waitAfter(asking(1_000), 30_000)).toBe(30_000);
    expect(waitAfter(asking(10 * RETRY_LATER_MAX_MS), 30_000)).toBe(RETRY_LATER_MAX_MS);
    expect(waitAfter(asking(10 * RETRY_LATER_MAX_MS), 2 * RETRY_LATER_MAX_MS)).toBe(2 * RETRY_LATER_MAX_MS);
    for (const thrown of [
      asking(),
      asking(Number.NaN),
      asking(-1),
      asking(Infinity),
      new Error(),
      "x",
      null,
    ]) {
      expect(waitAfter(thrown, 30_000)).toBe(30_000);
    }
    for (const [, thrown] of hostile) expect(waitAfter(thrown, 30_000)).toBe(30_000);
  });
});
