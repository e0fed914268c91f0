/** For a tour without a person: everything that needs one is mended by the console's API, as its buttons would. */
import { until, type Scene, type Stage } from "../stage.ts";
import { sentenceOf, waiting, type Waiting } from "./waiting.ts";

interface Remedy {
  readonly path: string;
  readonly action: string;
  readonly why: string;
}

export const mended: Scene = async (stage, number) => {
  const { screen, outside } = stage;
  screen.scene(number, "What needs a person is mended");
  screen.say(
    "The newsletter, the refunds and the warehouse in the east are back. An operator goes through the console's list: each action asks for a reason and is audited.",
  );
  screen.gap();
  outside.down.clear();
  const { counters } = stage.shop.amends;
  const undoneBefore = counters.failed;
  const items = await waiting(stage);
  const stalled = items.filter(({ kind }) => kind === "stalled-saga").length;
  for (const item of items) {
    const { path, action, why } = remedyFor(item);
    screen.fact(item.what, sentenceOf(item));
    screen.row("".padEnd(WIDTH));
    await stage.door.call("POST", `${path}/${encodeURIComponent(item.id)}/${action}`, { reason: why });
    screen.mark("good", action, `(${why})`);
  }
  await until(async () => counters.failed - undoneBefore === stalled && (await nothingWaits(stage)));
  screen.gap();
  screen.say("Nothing needs a person any more. Who did what, and why, is on the console's audit page.");
};

const WIDTH = 10;

function remedyFor({ kind, reason }: Waiting): Remedy {
  switch (kind) {
    case "stalled-saga":
      return { path: "sagas", action: "retry", why: "refunds work again" };
    case "abandoned-entry":
      return { path: "outbox", action: "requeue", why: "the newsletter is back" };
    case "disabled-subscription":
      return { path: "webhooks/subscriptions", action: "unsubscribe", why: "the old shop has moved away" };
    default:
      return reason.includes("gone for good")
        ? { path: "webhooks/deliveries", action: "dismiss", why: "the old shop has moved away" }
        : { path: "webhooks/deliveries", action: "resend", why: "the warehouse is back" };
  }
}

/** Neither on the list, nor on its way back to it. */
async function nothingWaits({ shop, figures }: Stage): Promise<boolean> {
  const { pending, in_flight, failed } = await shop.erasure.outbox.statusCounts();
  const open = await shop.amends.webhooks.deliveries({ status: "InProgress" });
  const stillRuns = pending + in_flight + failed + open.length > 0;
  return !stillRuns && (await figures.attention()) === 0;
}
