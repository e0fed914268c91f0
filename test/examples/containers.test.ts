/**
 * The files of examples/containers. No container engine runs here: the tests run what the image would run, with the files
 * that it would have, from the packed package.
 */
import { spawn, type ChildProcess } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, expect, it } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import { COMMANDS } from "../../src/cli/program/commands.ts";
import { link, pack } from "../../tools/package-check.mjs";
import { root } from "../../tools/project.mjs";
import { builtPackage } from "../support/built.ts";
import { onDatabase } from "../support/databases.ts";

const folder = path.join(root, "examples", "containers");
const read = (name: string): string => readFileSync(path.join(folder, name), "utf8");

interface Probe {
  readonly httpGet: {
    readonly path: string;
    readonly httpHeaders?: readonly { readonly name: string; readonly value: string }[];
  };
}
interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec: { readonly template?: { readonly spec: Pod } };
}
interface Pod {
  readonly terminationGracePeriodSeconds?: number;
  readonly containers: readonly {
    readonly args: readonly string[];
    readonly livenessProbe?: Probe;
    readonly readinessProbe?: Probe;
  }[];
}
interface Compose {
  readonly services: Readonly<
    Record<
      string,
      {
        readonly command?: readonly string[];
        readonly stop_grace_period?: string;
        readonly healthcheck?: { readonly test: readonly string[] };
      }
    >
  >;
}

const dockerfile = read("Dockerfile").replaceAll(/^#.*\n/gm, "");
const copied = [...dockerfile.matchAll(/^COPY (?!--from)(.+) \.\/$/gm)].flatMap(([, names = ""]) =>
  names.split(" "),
);
/** The list of words of an instruction such as ENTRYPOINT. */
function words(instruction: string): readonly string[] {
  const [, list = "[]"] = new RegExp(`^${instruction} (\\[.+\\])$`, "m").exec(dockerfile) ?? [];
  return JSON.parse(list) as string[];
}

const compose = parse(read("compose.yaml"), { merge: true }) as Compose;
const manifests = parseAllDocuments(read("kubernetes.yaml")).map((one) => one.toJS() as Manifest);
const podOf = (name: string): Pod | undefined =>
  manifests.find(({ kind, metadata }) => kind !== "Service" && metadata.name === name)?.spec.template?.spec;

/** Every command line that the files give to the image. */
const commands: readonly (readonly string[])[] = [
  words("CMD"),
  ...["migrate", "worker", "console"].map((name) => compose.services[name]?.command ?? []),
  ...["amends-migrate", "amends-worker", "amends-console"].map(
    (name) => podOf(name)?.containers[0]?.args ?? [],
  ),
];

it("[C-11] the image copies files that the example has, and its commands have options that there are", () => {
  // The lock file is that of the user's project: an example in this repository has none.
  expect(
    copied.filter((name) => name !== "package-lock.json" && !existsSync(path.join(folder, name))),
  ).toEqual([]);
  const ignored = read(".dockerignore").split("\n");
  for (const name of copied) expect(ignored).toContain(`!${name}`);
  for (const [name = "", ...rest] of commands) {
    const options = COMMANDS.find((command) => command.name === name)?.options ?? {};
    const given = rest.filter((word) => word.startsWith("--")).map((word) => word.slice(2));
    expect([name, Object.keys(options)]).toEqual([name, expect.arrayContaining(given)]);
  }
});

it("[C-11] a worker gets more time to end than its deadline takes", () => {
  const deadlineSeconds = 25;
  expect(parseInt(compose.services["worker"]?.stop_grace_period ?? "0", 10)).toBeGreaterThanOrEqual(
    deadlineSeconds + 5,
  );
  expect(podOf("amends-worker")?.terminationGracePeriodSeconds).toBeGreaterThanOrEqual(deadlineSeconds + 5);
});

const cleanups: (() => void)[] = [];
afterEach(() => {
  for (const cleanUp of cleanups.splice(0)) cleanUp();
});

/** What the image would contain: the package with its dependencies, and the copied files. */
async function image(): Promise<string> {
  await builtPackage();
  const place = mkdtempSync(path.join(tmpdir(), "amends-image-"));
  cleanups.push(() => rmSync(place, { recursive: true, force: true }));
  const app = path.join(place, "app");
  mkdirSync(app);
  await link(await pack(), app);
  for (const name of copied)
    if (existsSync(path.join(folder, name))) cpSync(path.join(folder, name), path.join(app, name));
  return app;
}

interface Container {
  readonly child: ChildProcess;
  seen(pattern: RegExp): Promise<RegExpExecArray>;
  readonly ended: Promise<number | null>;
}

/** Runs a command as the image's entry point does; a port becomes any free one. */
function run(app: string, command: readonly string[], env: Readonly<Record<string, string>>): Container {
  const [program = "", ...rest] = words("ENTRYPOINT");
  const args = [...rest, ...command.map((word) => (/^\d{4}$/.test(word) ? "0" : word))];
  const child = spawn(path.join(app, program), args, {
    cwd: app,
    env: { PATH: process.env["PATH"], NODE_ENV: "production", ...env },
  });
  let output = "";
  let look: () => void = () => undefined;
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => {
      output += text;
      look();
    });
  const ended = new Promise<number | null>((resolve) => {
    child.once("close", (code) => {
      resolve(code);
      look();
    });
  });
  cleanups.unshift(() => child.kill("SIGKILL"));
  return {
    child,
    ended,
    seen: (pattern) =>
      new Promise((resolve, reject) => {
        look = () => {
          const match = pattern.exec(output);
          if (match) resolve(match);
          else if (child.exitCode !== null)
            reject(new Error(`It ended without ${String(pattern)}:\n${output}`));
        };
        look();
      }),
  };
}

/** The status of a probe as a kubelet sends it: to the address of the pod, with that address as Host unless it is told. */
function probed(url: string, { httpGet }: Probe): Promise<number | undefined> {
  const named = (httpGet.httpHeaders ?? []).map(({ name, value }) => [name.toLowerCase(), value]);
  const headers = { host: "10.1.2.3:9090", ...Object.fromEntries(named) } as Record<string, string>;
  return new Promise((resolve, reject) => {
    request(new URL(httpGet.path, url), { headers }, (response) => {
      response.resume();
      resolve(response.statusCode);
    })
      .once("error", reject)
      .end();
  });
}

onDatabase("postgres", (database) => {
  it(
    "[C-11] migrations, worker and console of the packed package run by the commands of the files, and answer their probes",
    { timeout: 120_000 },
    async () => {
      const app = await image();
      const env = { DATABASE_URL: await database.place(), AMENDS_TOKEN: "t".repeat(32) };
      const [, migrate = [], worker = [], console = []] = commands;
      expect(await run(app, migrate, env).ended).toBe(0);

      const working = run(app, worker, env);
      const [, port = ""] = await working.seen(/health {3}http:\/\/0\.0\.0\.0:(\d+)\//);
      const url = `http://127.0.0.1:${port}/`;
      const { livenessProbe, readinessProbe } = podOf("amends-worker")?.containers[0] ?? {};
      if (!livenessProbe || !readinessProbe) throw new Error("The worker has no probes.");
      await expect.poll(() => probed(url, readinessProbe), { timeout: 20_000 }).toBe(200);
      expect(await probed(url, livenessProbe)).toBe(200);
      const [, program = "", ...args] = compose.services["worker"]?.healthcheck?.test ?? [];
      expect(program).toBe("node");
      const check = spawn(
        process.execPath,
        args.map((word) => word.replace("9090", port)),
      );
      expect(await new Promise((resolve) => check.once("close", resolve))).toBe(0);

      const shown = run(app, console, env);
      const [, consolePort = ""] = await shown.seen(/console {2}http:\/\/0\.0\.0\.0:(\d+)\//);
      const probe = podOf("amends-console")?.containers[0]?.readinessProbe;
      if (!probe) throw new Error("The console has no probe.");
      const consoleUrl = `http://127.0.0.1:${consolePort}/`;
      expect(await probed(consoleUrl, probe)).toBe(200);
      expect(await probed(consoleUrl, { httpGet: { path: probe.httpGet.path } })).toBe(403);

      for (const one of [working, shown]) {
        one.child.kill("SIGTERM");
        expect(await one.ended).toBe(0);
      }
    },
  );
});
