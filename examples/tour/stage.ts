/** What every scene of the tour gets: the shop, the systems outside, the screen, and the figures so far. */
import type { SagaOutcome, SagaRun, StepNews } from "amends";
import type { Door } from "./door.ts";
import type { Figures } from "./figures.ts";
import type { Outside } from "./outside/outside.ts";
import type { Screen } from "./screen.ts";
import type { Order } from "./shop/place-order.ts";
import type { Task } from "./scenes/tasks.ts";
import type { Shop } from "./shop/shop.ts";

export interface Stage {
  readonly screen: Screen;
  readonly shop: Shop;
  readonly outside: Outside;
  readonly figures: Figures;
  readonly door: Door;
  /** Where everything that the tour leaves behind is. */
  readonly folder: string;
  /** What the story left to an operator, once it has. */
  tasks: readonly Task[];
  nextId(): string;
}

export type Scene = (stage: Stage, number: number) => Promise<void>;

/** Places an order and shows the steps of its saga as they become durable. */
export async function playOrder(stage: Stage, order: Order): Promise<SagaOutcome> {
  const { shop, screen } = stage;
  const id = stage.nextId();
  screen.row(id);
  await shop.sell(id, order);
  return showSteps(screen, await shop.amends.get(id));
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

/** Polls until the condition holds. */
export async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise((resolve) => setTimeout(resolve, 50));
}
