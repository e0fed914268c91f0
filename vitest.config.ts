import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { UNTIL_MS } from "./test/setup/limits.ts";
import { runFolder } from "./test/setup/run-folder.ts";
import { SlowestFirst } from "./test/setup/slowest-first.ts";
import { needyFiles } from "./tools/test-files.mjs";

const src = fileURLToPath(new URL("src", import.meta.url));

/** The package's own name means its sources, so that examples and the README's code run as they stand. */
const alias = [
  { find: /^amends$/, replacement: `${src}/index.ts` },
  { find: /^amends\/webhooks\/receive$/, replacement: `${src}/webhooks-receive.ts` },
  { find: /^amends\/(.+)$/, replacement: `${src}/$1.ts` },
];

/** No test is tried again. The limits only end one that would hang, on a machine that may have other work as well. */
const limits = { retry: 0, testTimeout: 90_000, hookTimeout: 120_000 };

/** `npm run quick` and `npm run watch` leave to `npm test` what needs a build or a browser. */
const leftOut = process.env["AMENDS_QUICK"] === "1" ? needyFiles("test") : [];

/** These need a library that is compiled at its installation: `npm run clients` does that. */
const native = process.env["AMENDS_CLIENTS"] === "1" ? [] : ["test/clients/native/**"];

/** These take minutes on a Restate server of their own: `npm run restate` runs them. */
const onRestate = process.env["AMENDS_RESTATE"] === "1" ? [] : ["test/restate/whole/**"];

export default defineConfig({
  test: {
    // Most tests wait for a database, a lease or a process of their own, so that four share two cores well.
    maxWorkers: Math.max(4, availableParallelism() - 1),
    sequence: { sequencer: SlowestFirst },
    reporters: ["default", "json"],
    outputFile: { json: process.env["AMENDS_TEST_REPORT"] ?? ".amends/partial-report.json" },
    projects: [
      {
        resolve: { alias },
        test: {
          // The pure core shares nothing that a test could spoil, so its files need no isolation.
          name: "core",
          include: ["test/core/**/*.test.ts"],
          pool: "threads",
          isolate: false,
          ...limits,
        },
      },
      {
        resolve: { alias },
        test: {
          name: "world",
          include: ["test/**/*.test.ts"],
          exclude: ["**/node_modules/**", "test/core/**", ...leftOut, ...native, ...onRestate],
          pool: "forks",
          isolate: false,
          globalSetup: ["test/setup/postgres.ts"],
          env: { TMPDIR: runFolder },
          setupFiles: ["test/setup/wait-for.ts"],
          expect: { poll: { timeout: UNTIL_MS, interval: 20 } },
          ...limits,
        },
      },
      {
        resolve: { alias },
        test: {
          name: "types",
          include: [],
          typecheck: {
            enabled: true,
            only: true,
            checker: "tsc",
            include: ["test/types/**/*.test-d.ts"],
            tsconfig: "./test/types/tsconfig.json",
            // `npm run types` reports those, once.
            ignoreSourceErrors: true,
          },
        },
      },
    ],
  },
});
