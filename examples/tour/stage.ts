/** What every scene of the tour gets: the shop, Amends with its worker, and the screen. */
import type { Amends, SagaOutcome, SagaRun, StepNews } from "amends";
import type { Order, PlaceOrder } from "./place-order.ts";
import type { Screen } from "./screen.ts";
import type { Shop } from "./shop.ts";

export interface Stage {
  readonly screen: Screen;
  readonly shop: Shop;
  readonly amends: Amends;
  readonly placeOrder: PlaceOrder;
  /** Where the database and the shop's own books are. */
  readonly folder: string;
  nextId(): string;
}

/** Starts an order and shows its steps as they become durable. */
export async function playOrder(stage: Stage, order: Order): Promise<SagaOutcome> {
  const { amends, placeOrder, screen } = stage;
  const run = await amends.start(placeOrder, order, { id: stage.nextId() });
  screen.row(run.id);
  return showSteps(screen, run);
}

/** A saga's steps on the row that is open, and its end. */
export async function showSteps(screen: Screen, run: SagaRun): Promise<SagaOutcome> {
  for await (const news of run.stream()) showNews(screen, news);
  const outcome = await run.result();
  screen.ending(outcome.status, toneOf(outcome));
  return outcome;
}

function showNews(screen: Screen, { name, action, status, error }: StepNews): void {
  if (action === "act") {
    if (status === "COMPLETED") screen.mark("good", name);
    else screen.mark("bad", name, error?.label);
    return;
  }
  if (status === "COMPLETED") screen.mark("back", `${name} undone`);
  else screen.mark("bad", `undo ${name}`, error?.label);
}

function toneOf({ status }: SagaOutcome): "good" | "bad" | "back" {
  if (status === "COMPLETED") return "good";
  return status === "FAILED" ? "back" : "bad";
}

export function euros(cents: number): string {
  return `${(cents / 100).toFixed(2)} €`;
}
