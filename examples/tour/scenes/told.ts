/** Webhooks: one partner accepts them, one is down until all attempts failed, one is gone for good. */
import { until, type Scene } from "../stage.ts";

const WIDTH = 15;

export const told: Scene = async (stage, number) => {
  const { screen, outside, shop } = stage;
  screen.scene(number, "Webhooks to partners");
  screen.say(
    "Signed and retried. The ledger accepts. The warehouse in the east answers 500: dead-lettered after 4 attempts. The old shop answers 410 (gone): its subscription is disabled.",
  );
  screen.gap();
  outside.down.add("warehouse-east");
  const id = stage.nextId();
  await shop.sell(id, { customer: "u-eve", sku: "tea", cents: 800, address: "Delhi" }, "east");
  const { webhooks } = shop.amends;
  const eventId = `${id}-placed`;
  await until(async () => {
    const deliveries = await webhooks.deliveries({ eventId });
    return deliveries.every(({ status }) => status === "Completed" || status === "DeadLettered");
  });
  const names = new Map((await webhooks.subscriptions()).map(({ id: of, description }) => [of, description]));
  for (const delivery of (await webhooks.deliveries({ eventId })).toReversed()) {
    screen.row((names.get(delivery.subscriptionId) ?? "?").padEnd(WIDTH));
    for (const { code } of await webhooks.attempts(delivery.id)) {
      screen.mark(code.startsWith("http_2") ? "good" : "bad", code);
    }
    screen.ending(delivery.status, delivery.status === "Completed" ? "good" : "bad");
  }
  screen.link("see", stage.door.page("webhooks"));
};
