/**
 * Walks the chain from its first link and reports the first place where it does not hold. What was cut off at the end
 * shows in the head; whoever could also set the head back is found out by an anchor that was kept elsewhere.
 */
import { refuseUnknown } from "../core/options.ts";
import type { Database } from "../storage/database.ts";
import { persist } from "../storage/retry.ts";
import { checkKey, linkHash, type ChainHead, type ChainOptions } from "./chain.ts";
import { listLinks, selectHead } from "./queries.ts";
import { HEAD, LINK } from "./rows.ts";

/** The options of `verifyAuditChain`. */
export interface VerifyOptions extends ChainOptions {
  /** A head that `auditHead` gave earlier and that was kept outside the database. */
  readonly anchor?: ChainHead;
}

/** `missing`: a link is gone. `altered`: an event or its hash was changed. `truncated`: the end was cut off. `head`: the head is not the last link's. `anchor`: the chain is not the one that was anchored. */
export type BreakReason = "missing" | "altered" | "truncated" | "head" | "anchor";

/** The result of `verifyAuditChain`: whole, or where it breaks first and why. */
export type ChainReport =
  | { readonly ok: true; readonly links: number }
  | { readonly ok: false; readonly link: number; readonly reason: BreakReason };

const PAGE = 1_000;

/** The newest link. Keep it outside the database, and give it to `verifyAuditChain` later. */
export async function auditHead(database: Database): Promise<ChainHead> {
  return readHead(database);
}

/** Walks the whole chain, and reports the first place at which it is broken. */
export async function verifyAuditChain(database: Database, options: VerifyOptions): Promise<ChainReport> {
  refuseUnknown(options, ["key", "anchor"], "verifyAuditChain");
  const key = checkKey(options.key);
  const { anchor } = options;
  // Read first: what is appended while the chain is walked is ahead of this head, and is checked as well.
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
