/** What `prove` says of a step that acts once for each item of a list: each item is judged by itself. */
import { err, ok, saga, type SagaDefinition } from "amends";
import { prove, type ProveReport } from "amends/testing";
import { expect, it } from "vitest";
import { z } from "zod";
import { Ledger, soon } from "./support/shop.ts";

/** Hundreds of runs of a saga are quick, but not on a machine that is busy with other things. */
const patient = { timeout: 180_000 };

const Basket = z.object({ skus: z.array(z.string()) });
type BasketSaga = SagaDefinition<z.input<typeof Basket>, z.output<typeof Basket>>;

const input = { skus: ["lamp", "bulb", "sofa+bed"] };

interface Parts {
  readonly over: (stock: Ledger, skus: readonly string[]) => readonly string[];
  readonly reserve: (stock: Ledger, key: string, sku: string) => unknown;
  readonly release: (stock: Ledger, actKey: string, sku: string, result: unknown) => unknown;
}

const reserveAll =
  (parts: Partial<Parts> = {}) =>
  (stock: Ledger): BasketSaga => {
    const over = parts.over ?? ((_, skus) => skus);
    const reserve = parts.reserve ?? ((_, key) => void stock.do(key));
    const release = parts.release ?? ((_, actKey) => stock.takeBack(actKey));
    return saga("reserve-all", Basket, soon)
      .each("reserve", {
        over: ({ input: { skus } }) => over(stock, skus),
        key: (sku) => sku,
        act: ({ item, key }) => {
          reserve(stock, key, item);
          return item === "gone" ? err("sold-out") : ok(item);
        },
        compensate: ({ item, actKey, result }) => void release(stock, actKey, item, result),
        concurrency: 2,
      })
      .step("confirm", { act: () => "confirmed" });
  };

/** All items are reserved, or none is. */
const isWhole = ({ total }: Ledger, { status }: { status: string }): boolean =>
  total === (status === "COMPLETED" ? input.skus.length : 0);

const proving = (parts: Partial<Parts>, more: object = {}): Promise<ProveReport> =>
  prove(reserveAll(parts), { input, world: () => new Ledger(), invariant: isWhole, report: true, ...more });

it(
  "[S-33][T-02] prove passes a list that is right, with every trouble at its computation, its items and their undos",
  patient,
  async () => {
    const seeds: string[] = [];
    const report = await proving({}, { errs: { reserve: "sold-out" }, schedules: 2_000 });
    expect(report).toMatchObject({ leftOut: 0, failures: [] });
    seeds.push(...report.stalled.map(({ seed }) => seed));
    expect(seeds).toContain("terminal@reserve[bulb]+terminal@reserve[lamp]/undo");
    expect(seeds).toContain("terminal@confirm+lost-always@reserve[sofa%2Bbed]/undo");
    // Neither the list nor its items have a time limit.
    expect(report.withoutLimit).toEqual(["reserve", "confirm", "the undo of reserve"]);
    const seed = seeds.at(-1);
    await expect(proving({}, { seed })).resolves.toMatchObject({ schedules: 1, failures: [] });
    await expect(proving({}, { seed: "terminal@reserve[desk]" })).rejects.toThrow("was not called");
    await expect(proving({}, { seed: "err@reserve[lamp]" })).rejects.toThrow("cannot happen");
  },
);

it("[S-33][T-02] prove finds an item whose undo does not undo", patient, async () => {
  const report = await proving(
    { release: (stock, key, sku) => sku !== "bulb" && stock.takeBack(key) },
    { schedules: 150 },
  );
  expect(report.failures.map(({ seed }) => seed)).toContain("terminal@confirm");
  expect(report.failures.every(({ outcome }) => outcome?.status === "FAILED")).toBe(true);
});

it("[S-33][T-02] prove finds an item that is undone by its result alone", patient, async () => {
  const trusting = (stock: Ledger, _: string, __: string, result: unknown): void =>
    stock.takeBack((result as { sku: string }).sku);
  const report = await prove(reserveAll({ reserve: (stock, _, sku) => stock.do(sku), release: trusting }), {
    input,
    world: () => new Ledger(),
    report: true,
    schedules: 100,
  });
  const found = report.failures.find(({ seed }) => seed === "lost-always@reserve[lamp]");
  expect(found?.problem).toContain("it stalled, and nothing in this schedule explains it");
});

it("[S-33][T-02] prove tries the first, the second and the last of many items", patient, async () => {
  const skus = Array.from({ length: 9 }, (_, index) => `sku-${index}`);
  const report = await prove(reserveAll({ release: () => undefined }), {
    input: { skus },
    world: () => new Ledger(),
    invariant: ({ total }, { status }) => total === (status === "COMPLETED" ? 9 : 0),
    report: true,
  });
  const items = new Set(report.failures.map(({ seed }) => /^terminal@reserve\[(.*)\]$/.exec(seed)?.[1]));
  items.delete(undefined);
  expect(items).toEqual(new Set(["sku-0", "sku-1", "sku-8"]));
});

/** The next try comes so soon that the saga is not given back until then. */
const briefly = { compensateRetry: { attempts: 2, base: "200ms" } } as const;

it(
  "[S-33] an undo of an item that failed is called again when its delay is over, and the saga waits until then",
  patient,
  async () => {
    const items = (stock: Ledger) =>
      saga("items", Basket, briefly)
        .each("reserve", {
          over: ({ input: { skus } }) => skus,
          key: (sku) => sku,
          act: ({ key }) => void stock.do(key),
          compensate: ({ actKey }) => stock.takeBack(actKey),
        })
        .step("confirm", { act: () => 1 });
    const options = { input, world: () => new Ledger(), invariant: isWhole };
    for (const seed of ["lost@reserve[bulb]/undo", "crash-answered@reserve[bulb]/undo"])
      expect(await prove(items, { ...options, seed: `terminal@confirm+${seed}` })).toMatchObject({
        stalled: [],
      });
  },
);

it(
  "[S-24] an undo of a step in a group that failed is called again when its delay is over, and the saga waits until then",
  patient,
  async () => {
    const both = (stock: Ledger) =>
      saga("both", z.object({}), briefly)
        .parallel("group", (group) =>
          group
            .step("left", {
              act: ({ key }) => void stock.do(key),
              compensate: ({ actKey }) => stock.takeBack(actKey),
            })
            .step("right", { act: () => 1 }),
        )
        .step("last", { act: () => 1 });
    const invariant = ({ total }: Ledger): boolean => total === 0;
    const seed = "terminal@last+lost@left/undo";
    const report = await prove(both, { input: {}, world: () => new Ledger(), invariant, seed });
    expect(report).toMatchObject({ stalled: [] });
  },
);
