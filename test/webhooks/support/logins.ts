/** A login for each part of webhook delivery, with the role of that part and nothing else. */
import type { Amends } from "amends";
import { postgres } from "amends/postgres";
import { onTestFinished } from "vitest";
import type { Clock } from "../../../src/storage/clock.ts";
import type { Database } from "../../../src/storage/database.ts";
import {
  ADMINISTRATOR,
  DEAD_LETTERS,
  DELIVERY,
  ORCHESTRATOR,
  PUBLISHER,
  READER,
  RETENTION,
  SENDER,
  SUBSCRIPTIONS,
} from "../../../src/storage/migrations/webhook-roles.ts";
import type { TestDatabase } from "../../support/databases.ts";
import { administer } from "../../support/places.ts";

const ROLES = {
  publisher: PUBLISHER,
  subscriptions: SUBSCRIPTIONS,
  orchestrator: ORCHESTRATOR,
  sender: SENDER,
  administrator: ADMINISTRATOR,
  deadLetters: DEAD_LETTERS,
  reader: READER,
  retention: RETENTION,
  delivery: DELIVERY,
} as const;

export type Part = keyof typeof ROLES;

export const PARTS: readonly Part[] = Object.keys(ROLES) as Part[];

/** Connects with a login of its own that has these roles, and no other rights. */
export async function loginAs(
  database: TestDatabase,
  parts: readonly Part[],
  clock?: Clock,
): Promise<Database> {
  return postgres({
    url: await loginUrl(database, parts),
    connections: 3,
    ...(clock && { clock }),
  });
}

let count = 0;

export async function loginUrl(database: TestDatabase, parts: readonly Part[]): Promise<string> {
  const url = new URL(await database.granted());
  const login = `${url.pathname.slice(1)}_${(count += 1)}`;
  const grants = parts.map((part) => `grant amends_${ROLES[part].name} to ${login};`);
  await administer(`create role ${login} login password 'secret'; ${grants.join(" ")}`);
  onTestFinished(() => administer(`drop role ${login}`));
  url.username = login;
  url.password = "secret";
  return url.href;
}

/** Who calls what of `amends.webhooks`. */
const CALLERS: Readonly<Record<string, Part>> = {
  publish: "publisher",
  subscribe: "subscriptions",
  update: "subscriptions",
  pause: "subscriptions",
  enable: "subscriptions",
  unsubscribe: "subscriptions",
  rotateSecret: "subscriptions",
  ping: "subscriptions",
  subscription: "reader",
  subscriptions: "reader",
  deliveries: "reader",
  delivery: "reader",
  attempts: "reader",
  event: "reader",
  deadLetters: "deadLetters",
  requeue: "deadLetters",
  dismiss: "deadLetters",
  resend: "deadLetters",
  resendSince: "deadLetters",
  prune: "retention",
};

/** An Amends each of whose webhook calls is made with the login of its part; everything else with the owner's. */
export function divided(owner: Amends, of: (part: Part) => Amends): Amends {
  const webhooks = new Proxy(owner.webhooks, {
    get: (_, name: string) => {
      const part = CALLERS[name];
      if (part === undefined) throw new Error(`no login is named for amends.webhooks.${name}`);
      const target = of(part).webhooks as unknown as Record<string, (...given: unknown[]) => unknown>;
      return (...given: unknown[]) => target[name]?.(...given);
    },
  });
  return new Proxy(owner, {
    get: (target, name) => {
      if (name === "webhooks") return webhooks;
      const found: unknown = Reflect.get(target, name, target);
      return typeof found === "function" ? (found.bind(target) as unknown) : found;
    },
  });
}
