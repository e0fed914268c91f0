/** Orders that go well. */
import { playOrder, type Stage } from "../stage.ts";

export async function complete(stage: Stage): Promise<void> {
  const { screen } = stage;
  screen.scene(1, "Orders that complete");
  screen.say("A saga is a list of steps. Each one is durable in the database before the next one begins.");
  screen.gap();
  await playOrder(stage, { sku: "tea", cents: 1_200, address: "Lisbon" });
  await playOrder(stage, { sku: "coffee", cents: 900, address: "Oslo" });
  await playOrder(stage, { sku: "tea", cents: 450, address: "Kyoto" });
}
