/** What `prove` says of sagas with a fallback: whatever goes wrong, and wherever, one of the two counts. */
import { saga, type SagaDefinition } from "amends";
import { prove, type ProveReport } from "amends/testing";
import { expect, it } from "vitest";
import { Ledger, order, soon } from "./support/shop.ts";

/** Hundreds of runs of a saga are quick, but not on a machine that is busy with other things. */
const patient = { timeout: 180_000 };

interface Till {
  readonly cards: Ledger;
  readonly invoices: Ledger;
  readonly parcels: Ledger;
}

const openTill = (): Till => ({ cards: new Ledger(), invoices: new Ledger(), parcels: new Ledger() });

/** Paid once where it was shipped, and not at all where it was not. */
const isFair = ({ cards, invoices, parcels }: Till): boolean =>
  cards.total + invoices.total === parcels.total * 700;

const pay =
  (refund: ((till: Till, actKey: string) => void) | undefined) =>
  (till: Till): SagaDefinition<{ cents: number }, { cents: number }> =>
    saga("pay", order, soon)
      .step("charge", {
        timeout: "30s",
        act: ({ input, key }) => till.cards.do(key, input.cents),
        ...(refund && { compensate: ({ actKey }) => refund(till, actKey) }),
        fallback: {
          name: "invoice",
          act: ({ input, key }) => till.invoices.do(key, input.cents),
          compensate: ({ actKey }) => till.invoices.takeBack(actKey),
          breaker: { threshold: 2, reset: "1m" },
        },
      })
      .pivot("ship", { act: ({ key }) => till.parcels.do(key) });

const proveIt = (refund: Parameters<typeof pay>[0]): Promise<ProveReport> =>
  prove(pay(refund), {
    input: { cents: 700 },
    world: openTill,
    invariant: isFair,
    report: true,
  });

it(
  "[S-20][T-02] a step with a fallback is proven, with every trouble at either and at what undoes them",
  patient,
  async () => {
    const report = await proveIt(({ cards }, key) => cards.takeBack(key));
    expect(report).toMatchObject({ leftOut: 0, failures: [], withoutUndo: [] });
    // The fallback is tried as well, though a run without trouble never comes to it.
    expect(report.withoutLimit).toContain("invoice");
    expect(report.stalled.map(({ seed }) => seed)).toContain("terminal@charge+terminal@charge/undo");
    const one = await prove(
      pay(({ cards }, key) => cards.takeBack(key)),
      {
        input: { cents: 700 },
        world: openTill,
        invariant: isFair,
        seed: "terminal@charge+crash-answered@invoice",
      },
    );
    expect(one).toMatchObject({ schedules: 1, failures: [] });
  },
);

it(
  "[S-20][T-02] a step that may have happened, has no undo and gives way all the same is named",
  patient,
  async () => {
    const report = await proveIt(undefined);
    const found = report.failures.find(({ seed }) => seed === "lost-always@charge");
    expect(found).toMatchObject({ outcome: { status: "COMPLETED" }, problem: "the invariant does not hold" });
    expect(report.withoutUndo).toEqual(["charge"]);
  },
);

it(
  "[S-20][T-02] an undo that does nothing is found, though the saga completes by its fallback",
  patient,
  async () => {
    const report = await proveIt(() => undefined);
    expect(report.failures.map(({ seed }) => seed)).toContain("lost-always@charge");
    expect(report.failures.every(({ problem }) => problem === "the invariant does not hold")).toBe(true);
  },
);
