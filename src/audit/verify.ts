/**
 * Walks the chain from its first link and reports the first place where it does not hold. The head reveals links
 * that were removed from the end; an anchor that is stored elsewhere also reveals a head that was reset.
 */
import { refuseUnknown } from "../core/options.ts";
import type { Database } from "../storage/database.ts";
import { persist } from "../storage/retry.ts";
import { checkKey, linkHash, type ChainHead, type ChainOptions } from "./chain.ts";
import { listLinks, selectHead } from "./queries.ts";
import { HEAD, LINK } from "./rows.ts";

/** The key of the chain, and optionally a link that is known to be genuine. */
export interface VerifyOptions extends ChainOptions {
  /**
   * A head that `auditHead` returned earlier and that was stored outside the database. Default: the chain is checked
   * against its own head only.
   */
  readonly anchor?: ChainHead;
}

/**
 * Why a chain is broken. `missing`: a link was removed. `altered`: an event or its hash was changed. `truncated`: the
 * newest links were removed. `head`: the stored head matches no link. `anchor`: the anchor matches no link.
 */
export type BreakReason = "missing" | "altered" | "truncated" | "head" | "anchor";

/**
 * The result of `verifyAuditChain`: the number of links of an intact chain, or the first link at which the chain is
 * broken and why.
 */
export type ChainReport =
  | { readonly ok: true; readonly links: number }
  | { readonly ok: false; readonly link: number; readonly reason: BreakReason };

const PAGE = 1_000;

/** Reads the newest link. Store it outside the database and pass it to `verifyAuditChain` later. */
export async function auditHead(database: Database): Promise<ChainHead> {
  return readHead(database);
}

/** Walks the whole chain and reports the first link at which it is broken. */
export async function verifyAuditChain(database: Database, options: VerifyOptions): Promise<ChainReport> {
  refuseUnknown(options, ["key", "anchor"], "verifyAuditChain");
  const key = checkKey(options.key);
  const { anchor } = options;
  // Read first: events that are appended during the walk come after this head and are checked as well.
  const head = await readHead(database);
  const broken = (link: number, reason: BreakReason): ChainReport => ({ ok: false, link, reason });
  let last: ChainHead = { link: 0, hash: "" };
  let headHolds = head.link === 0 && head.hash === "";
  let anchorHolds = anchor === undefined || anchor.link === 0;
  for (let isLast = false; !isLast;) {
    const rows = await persist(database, () => database.query(listLinks(database.dialect, last.link, PAGE)));
    for (const event of rows.map((row) => LINK.read(row))) {
      if (event.link !== last.link + 1) return broken(last.link + 1, "missing");
      if (linkHash(key, last.hash, event) !== event.hash) return broken(event.link, "altered");
      last = { link: event.link, hash: event.hash };
      headHolds ||= isSame(head, last);
      anchorHolds ||= isSame(anchor, last);
    }
    isLast = rows.length < PAGE;
  }
  if (last.link < head.link) return broken(last.link + 1, "truncated");
  if (!headHolds) return broken(head.link, "head");
  if (!anchorHolds) return broken(anchor?.link ?? 0, "anchor");
  return { ok: true, links: last.link };
}

function isSame(one: ChainHead | undefined, other: ChainHead): boolean {
  return one?.link === other.link && one.hash === other.hash;
}

async function readHead(database: Database): Promise<ChainHead> {
  const [row] = await persist(database, () => database.query(selectHead(database.dialect)));
  return row ? HEAD.read(row) : { link: -1, hash: "" };
}
