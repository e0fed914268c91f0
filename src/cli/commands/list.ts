/** `amends list`: one part, the newest first, with filters. Pages are followed until there are as many as were asked for. */
import type { Page } from "../../console/contract.ts";
import { Refusal, SOURCE, withApi, type Api } from "../source/api.ts";
import { command, number, text, type Command } from "../program/command.ts";
import { Trouble, UsageError } from "../program/failure.ts";
import { paint } from "../terminal/ink.ts";
import { LISTED, LISTINGS, type Filter, type Listing } from "../terminal/listings.ts";
import { nearest } from "../program/nearest.ts";
import { JSON_OUT } from "../program/shared-options.ts";
import { instantOf } from "../program/time-option.ts";

const PAGE = 200;
/** The number of pages that are searched at most if few items match. */
const PAGES_MAX = 10;

export const list: Command = command({
  name: "list",
  group: "Look",
  summary: "Lists sagas, or items of another part, newest first; schedules by name.",
  args: [{ name: "PART", summary: `${LISTED.join(", ")}. Default: sagas.`, required: false }],
  options: {
    ...SOURCE,
    status: text("A,B", "Only these states."),
    name: text(
      "NAME",
      "Only this saga, resolver, call, event, subject or kind, a part of a subscription's URL, or the beginning of a schedule's name.",
    ),
    since: text("TIME", "Only sagas that changed at this time or later, such as 2026-11-17T03:00:00Z."),
    until: text("TIME", "Only sagas that changed before this time."),
    attributes: text("A=X,B=Y", "Only sagas with these attributes, such as tenant=acme,tier=2."),
    error: text("LABEL", "Only sagas that failed or stalled with this error."),
    limit: number("N", "How many at most. Default: 20.", 1, 1_000),
    ...JSON_OUT,
  },
  examples: [
    ["amends list", "the newest sagas"],
    ["amends list sagas --status STALLED,FAILED --limit 50", "those that did not complete"],
    [
      "amends list sagas --status STALLED --error RefundsDown --attributes tenant=acme",
      "those of one tenant with one error",
    ],
    ["amends list schedules --status paused", "schedules that do not tick"],
    ["amends list outbox --status abandoned", "abandoned entries"],
    ["amends list subscriptions --status disabled", "endpoints to which nothing is sent"],
    ["amends list handlers --status unserved", "handlers of events that no running worker has"],
    ["amends list erasures --status overdue", "requests of data subjects that are late"],
    ["amends list --since 2026-11-17T03:00:00Z --limit 1000", "sagas that ran after a backup"],
    ["amends list paused", "what operators hold back"],
    ["amends list attention --json", "items that need attention, for a program"],
    ["amends list attention --name dead-letter", "one kind of them"],
  ],
  run: async ({ args, options, output, world }) => {
    const part = args[0] ?? "sagas";
    const listing = listingOf(part);
    const statuses = statesOf(listing, options.status);
    const { name, attributes, error } = options;
    const ofSagas = (["since", "until", "attributes", "error"] as const).find(
      (key) => options[key] !== undefined,
    );
    if (part !== "sagas" && ofSagas !== undefined) throw new UsageError(`--${ofSagas} is for sagas.`, "list");
    const [since, until] = [
      instantOf("since", options.since, "list"),
      instantOf("until", options.until, "list"),
    ];
    const filter = { statuses, name, since, until, attributes, error };
    return withApi(options, world, async (api) => {
      const found = await collect(api, part, listing, filter, options.limit ?? 20);
      output.document(found);
      if (found.items.length === 0) output.say(paint("dim", "Nothing."));
      else if (listing.draw) listing.draw(output, found.items, world.nowMs());
      else
        output.table(
          listing.columns,
          found.items.map((item) => listing.row(item, world.nowMs())),
        );
      if (found.more) output.say(paint("dim", "There are more: --limit shows them."));
      return 0;
    });
  },
});

function listingOf(part: string): Listing<never> {
  const found = Object.hasOwn(LISTINGS, part) ? LISTINGS[part] : undefined;
  if (found) return found;
  const near = nearest(part, LISTED);
  const hint = near === undefined ? `There are: ${LISTED.join(", ")}.` : `Did you mean ${near}?`;
  throw new UsageError(`There is no part ${JSON.stringify(part)} to list. ${hint}`, "list");
}

/** However they are spelt. */
function statesOf({ states }: Listing<never>, given: string | undefined): readonly string[] {
  if (given === undefined) return [];
  if (states.length === 0) throw new UsageError("These items have no states: leave --status out.", "list");
  return given.split(",").map((word) => {
    const plain = (spelt: string): string => spelt.toLowerCase().replaceAll(/[^a-z]/g, "");
    const found = states.find((name) => plain(name) === plain(word));
    if (found !== undefined) return found;
    throw new UsageError(
      `There is no state ${JSON.stringify(word)} here. There are: ${states.join(", ")}.`,
      "list",
    );
  });
}

async function collect(
  api: Api,
  part: string,
  { path, query, fits }: Listing<never>,
  filter: Filter,
  limit: number,
): Promise<{ readonly items: readonly never[]; readonly more: boolean }> {
  const items: never[] = [];
  let after: string | undefined;
  for (let pages = 0; pages < PAGES_MAX || !fits; pages++) {
    const size = fits ? PAGE : Math.min(PAGE, limit - items.length);
    const page = await readPage(api, part, path, { ...query(filter), limit: size, after });
    items.push(...(fits ? page.items.filter((item) => fits(item, filter)) : page.items));
    if (items.length >= limit)
      return { items: items.slice(0, limit), more: items.length > limit || page.next !== null };
    if (page.next === null) return { items, more: false };
    after = page.next;
  }
  return { items, more: true };
}

/** A console of an older version may lack a part. */
async function readPage(
  api: Api,
  part: string,
  path: string,
  query: Readonly<Record<string, string | number | undefined>>,
): Promise<Page<never>> {
  try {
    return await api.get(path, query);
  } catch (error) {
    if (!(error instanceof Refusal) || error.status !== 404) throw error;
    const message = `The console at ${api.shown} does not have ${part}.`;
    throw new Trouble("NOT_SUPPORTED", message, "Update the amends package there.", { cause: error });
  }
}
