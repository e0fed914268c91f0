/** `npm run races`: the races on PostgreSQL, each with ten times the rounds that the gate runs. */
import { ensureInstalled, program, toolMain } from "./project.mjs";

await toolMain(async () => {
  await ensureInstalled();
  const env = { AMENDS_ROUNDS: "10", AMENDS_TEST_REPORT: ".amends/races-report.json" };
  const outcome = await program("vitest", ["run", "races"], { show: true, env });
  if (!outcome.ok) process.exitCode = 1;
});
