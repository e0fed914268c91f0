/**
 * The programmes that take longer than the gate allows. `npm run races`: the races on PostgreSQL, with ten to fifty
 * times the rounds. `npm run crash`: the crash tests (test/crash), in which each process is killed and stopped at every crash
 * point; `npm test` tries a sample of them. `npm run poolers`: the tests of test/poolers through a real PgBouncer, with 10,000
 * sagas; `npm test` uses a pooler of its own.
 */
import { availableParallelism } from "node:os";
import { buildTests } from "./build.mjs";
import { findPgBouncer } from "./pgbouncer.mjs";
import { ensureInstalled, program, toolMain } from "./project.mjs";

/** @type {Record<string, { args: string[], env: Record<string, string>, needs?: () => void }>} */
const PROGRAMMES = {
  races: { args: ["races"], env: { AMENDS_ROUNDS: "many" } },
  // Each test file has processes of its own. More files than cores would make each of them miss its leases.
  crash: { args: ["test/crash", `--maxWorkers=${availableParallelism()}`], env: { AMENDS_CRASH: "1" } },
  poolers: {
    args: ["test/poolers", "--testTimeout=900000"],
    env: { AMENDS_POOLER: "pgbouncer" },
    needs: () => console.log(`PgBouncer ${findPgBouncer().version}`),
  },
};

await toolMain(async () => {
  const programme = PROGRAMMES[process.argv[2] ?? ""];
  if (!programme) throw new Error(`Name one of: ${Object.keys(PROGRAMMES).join(", ")}.`);
  programme.needs?.();
  await ensureInstalled();
  const built = await buildTests();
  if (!built.ok) throw new Error(built.output);
  const env = { ...programme.env, AMENDS_TEST_REPORT: ".amends/programme-report.json" };
  const outcome = await program("vitest", ["run", ...programme.args], { show: true, env });
  if (!outcome.ok) process.exitCode = 1;
});
