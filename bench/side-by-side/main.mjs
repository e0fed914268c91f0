// The same order process, written for DBOS and for Amends, killed in the middle of each of its calls: the call has happened, and the
// process dies before it can record that. Then the order has to be taken back, for one of three reasons. What is left in the books of
// the services in the end is what nobody took back.
//
//   node bench/side-by-side/main.mjs [DBOS | Amends]    once the benchmark was installed and the package built (npm run bench -- --help)
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { openServer } from "../server.mjs";
import { startServices } from "./services.mjs";

const endMs = 60_000;

const variants = [
  { name: "DBOS, compensations after their steps", file: "dbos-order.mjs", env: { COMPENSATION: "after" } },
  { name: "DBOS, compensations before their steps", file: "dbos-order.mjs", env: { COMPENSATION: "before" } },
  { name: "Amends", file: "amends-order.mjs", env: {} },
];

/** What follows the kill. */
const stories = [
  { title: "the service stays down", down: "acts", next: "recover" },
  { title: "the order is cancelled", down: "nothing", next: "cancel" },
  { title: "the service stays down, also for what takes the call back", down: "all", next: "recover" },
];

async function sideBySide(chosen, say) {
  const postgres = await openServer();
  const services = await startServices();
  const rows = [];
  try {
    for (const { name, file, env } of chosen) {
      const all = { ...env, SERVICES: services.url };
      const first = await postgres.newDatabase(file);
      services.begin(undefined);
      const whole = await runProgram(file, [first.url, "whole", "start"], all);
      await first.drop();
      const { calls } = services;
      say(`${name}: ${calls} calls, ${whole}`);
      for (const { title, down, next } of stories) {
        for (let at = 1; at <= calls; at++) {
          const database = await postgres.newDatabase(file);
          services.begin({ at, down });
          await runProgram(file, [database.url, "order", "start"], all);
          const outcome = await runProgram(file, [database.url, "order", next], all);
          const { left } = services;
          rows.push({ name, title, at, outcome, left });
          say(`${name}: killed in call ${at}, ${title}: ${outcome}; left: ${left.join(", ") || "nothing"}`);
          await database.drop();
        }
      }
    }
  } finally {
    services.close();
    await postgres.close();
  }
  return rows;
}

/** Runs one process to its end; returns what it said, or "killed". */
function runProgram(file, args, env) {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [fileURLToPath(new URL(file, import.meta.url)), ...args], {
      env: { ...process.env, ...env, NODE_NO_WARNINGS: "1" },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let said = "";
    let errors = "";
    child.stdout.on("data", (chunk) => (said += chunk));
    child.stderr.on("data", (chunk) => (errors += chunk));
    const late = setTimeout(() => child.kill("SIGTERM"), endMs);
    child.once("exit", (code, signal) => {
      clearTimeout(late);
      if (signal === "SIGKILL") return resolve("killed");
      if (code !== 0)
        return reject(new Error(`${file} ended with ${signal ?? code}:\n${errors.slice(-2000)}`));
      resolve(said.trim().split("\n").at(-1));
    });
  });
}

const [only = ""] = process.argv.slice(2);
const chosen = variants.filter(({ name }) => name.startsWith(only));
const rows = await sideBySide(chosen, (line) => process.stdout.write(`${line}\n`));
for (const { name } of chosen)
  for (const { title } of stories) {
    const trials = rows.filter((row) => row.name === name && row.title === title);
    const bad = trials.filter(({ left }) => left.length > 0);
    process.stdout.write(`${name}, ${title}: something is left in ${bad.length} of ${trials.length}\n`);
  }
