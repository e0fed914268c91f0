/** For a tour without an operator: every task is done through the console's API, as its buttons would do it. */
import { until, type Scene, type Stage } from "../stage.ts";
import { tasksOf } from "./tasks.ts";

export const mended: Scene = async (stage, number) => {
  const { screen, outside, door } = stage;
  const tasks = await tasksOf(stage);
  screen.scene(number, "An operator resolves what is left");
  screen.say(
    "The newsletter, the refunds and the warehouse in the east are back. An operator goes through the console's attention list: each action needs a reason and is audited.",
  );
  screen.gap();
  outside.down.clear();
  const { counters } = stage.shop.amends;
  const failedBefore = counters.failed;
  const stalled = tasks.filter(({ action }) => action === "retry").length;
  for (const { number: of, name, problem, path, action, why } of tasks) {
    screen.fact(`task ${of}`, `${name}: ${problem}`);
    screen.row("".padEnd(WIDTH));
    await door.call("POST", `${path}/${action}`, { reason: why });
    screen.mark("good", action, `(${why})`);
  }
  await until(async () => counters.failed - failedBefore === stalled && (await nothingIsOpen(stage)));
  screen.gap();
  screen.say("All clear. Who did what, and why, is on the console's audit page.");
  screen.link("see", door.page("audit"));
};

const WIDTH = 10;

/** Neither on the list, nor on its way back to it. */
async function nothingIsOpen({ shop, figures }: Stage): Promise<boolean> {
  const { pending, in_flight, failed } = await shop.erasure.outbox.statusCounts();
  const open = await shop.amends.webhooks.deliveries({ status: "InProgress" });
  const stillRuns = pending + in_flight + failed + open.length > 0;
  return !stillRuns && (await figures.attention()) === 0;
}
