/** An undo that fails: the order stalls, a person looks at it, and lets it go on. */
import { playOrder, showSteps, type Stage } from "../stage.ts";

export async function stalled(stage: Stage): Promise<void> {
  const { screen, shop, amends } = stage;
  screen.scene(4, "An order whose undo fails, and a person who resolves it");
  screen.say(
    "No courier goes to the moon, so a paid order must be refunded. Just now the payment service is down: the refund is tried three times, then the saga stalls. One undo that fails does not stop the others.",
  );
  screen.gap();
  shop.change((world) => void (world.paymentsDown = true));
  const { id } = await playOrder(stage, { sku: "tea", cents: 3_100, address: "the moon" });

  screen.gap();
  screen.say("STALLED waits for a person. amends.attention.list() says what is known, and what can be done:");
  screen.gap();
  const { items } = await amends.attention.list();
  for (const item of items) {
    if (item.kind !== "stalled-saga") continue;
    screen.fact("saga", `${item.saga} ${item.id}`);
    screen.fact("reason", item.reason);
    screen.fact("turned back", `ship answered ${item.error?.label}`);
    screen.fact("actions", item.actions.join(", "));
    screen.fact("skippable", item.skippable.join(", "));
  }

  screen.gap();
  screen.say("The payment service is back. An operator lets the saga go on, with new tries:");
  shop.change((world) => void (world.paymentsDown = false));
  const note = { by: "you", reason: "payments are back" };
  screen.command(`amends.retry("${id}", ${JSON.stringify(note)})`);
  screen.gap();
  const run = await amends.get(id);
  await amends.retry(id, note);
  screen.row(id);
  await showSteps(screen, run);

  screen.gap();
  screen.say(
    'Had you refunded by hand: amends.skip(id, "charge", note) leaves that one undo to you and does the rest. amends.resolve(id, "FAILED", note) ends the saga at once, and you answer for its effects. Each asks for a reason and becomes a line of the saga\'s log.',
  );
}
