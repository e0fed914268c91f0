/** The same with events: handlers that do not know each other, and a saga over them. */
import { StockLow } from "../shop/restock.ts";
import type { Scene, Stage } from "../stage.ts";

export const restocked: Scene = async (stage, number) => {
  const { screen } = stage;
  screen.scene(number, "Events instead of steps: a shelf is filled");
  screen.say(
    "Supplier, warehouse and shelf each take one event and answer with another. The saga over them knows the next step, and what to cancel when one of them refuses.",
  );
  screen.gap();
  await play(stage, "restock-1", "tea", 200);
  await play(stage, "restock-2", "pianos", 900);
  screen.gap();
  screen.say(
    "900 pianos do not fit: NoRoom, so the purchase was cancelled before the failure was published.",
  );
  screen.link("see", stage.door.page("flows"));
};

async function play({ screen, shop, figures }: Stage, id: string, sku: string, count: number): Promise<void> {
  const { events } = shop.amends;
  screen.row(id);
  const [run] = await events.publish(StockLow({ restock: id, sku, count }));
  const status = await run?.ended();
  figures.restocks += 1;
  const view = await events.inspect(run?.id ?? "");
  let isBack = false;
  for (const { event } of view?.events ?? []) {
    isBack ||= event === "NoRoom";
    screen.mark(event === "NoRoom" ? "bad" : isBack ? "back" : "good", event);
  }
  screen.ending(String(status).toUpperCase(), status === "completed" ? "good" : "back");
}
