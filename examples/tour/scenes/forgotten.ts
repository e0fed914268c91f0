/** Erasure requests: at once in the shop's tables, and later in every other system that has the data. */
import { until, type Scene } from "../stage.ts";

const SYSTEMS = ["help-desk", "newsletter", "logs"];

export const forgotten: Scene = async (stage, number) => {
  const { screen, outside, shop, figures } = stage;
  screen.scene(number, "Three customers request erasure");
  screen.say(
    "One commit erases them here and enqueues a call to every other system. Finn was known to the help desk only. The logs cannot erase: they expire in 30 days, and that is verified then. The newsletter is down: after 3 attempts Ann's and Ben's entries are abandoned.",
  );
  screen.gap();
  outside.down.add("newsletter");
  for (const [name, systems] of [
    ["finn", ["help-desk"]],
    ["ann", SYSTEMS],
    ["ben", SYSTEMS],
  ] as const) {
    const report = await shop.forget(`u-${name}`, systems);
    figures.erasures += 1;
    screen.row(`u-${name}`);
    if ((report.deleted["messages"] ?? 0) > 0) screen.mark("good", "messages deleted");
    if ((report.anonymized["customers"] ?? 0) > 0) screen.mark("good", "account anonymized");
    if (report.retained.length > 0) screen.mark("plain", "invoices retained", "(tax law)");
  }
  const { outbox } = shop.erasure;
  await until(async () => {
    const { pending, in_flight, failed } = await outbox.statusCounts();
    return pending + in_flight + failed === 0;
  });
  const { succeeded, scheduled, abandoned } = await outbox.statusCounts();
  screen.row("outside");
  screen.mark("good", `${succeeded} confirmed`);
  screen.mark("plain", `${scheduled} will expire`);
  screen.mark("bad", `${abandoned} abandoned`);
  screen.link("see", stage.door.page("erasures/u-ann"));
};
