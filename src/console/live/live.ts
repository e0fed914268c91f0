/**
 * Looks once a second for whatever changed, for all browsers together, and only while somebody looks. What it finds is
 * kept for a while under a running number, so that whoever was cut off gets what they missed; whoever missed more is
 * told to load everything again.
 */
import { randomBytes } from "node:crypto";
import type { Clock } from "../../storage/clock.ts";
import { sleep } from "../../storage/clock.ts";
import type { Row } from "../../storage/database.ts";
import type { LiveChange, Part } from "../contract.ts";
import { selectNews } from "./queries.ts";
import { countOf, type ConsoleContext } from "../context.ts";
import { COUNT_MAX } from "../overview/overview.ts";
import { iso } from "../sagas/lines.ts";
import { toLines } from "../sagas/read-lines.ts";

export interface LiveEvent {
  readonly id: string;
  readonly name: "change" | "reset";
  readonly data: LiveChange | Record<string, never>;
}

export interface Listener {
  /** The saga that this browser shows, if it shows one. */
  readonly saga: string | undefined;
  send(event: LiveEvent): void;
}

const POLL_MS = 1_000;
/** A commit may take this long after the instant that it wrote: that far back it looks again. */
const OVERLAP_MS = 5_000;
const CHANGES_MAX = 100;
/** Nothing changed after this: the first look only finds out what time it is. */
const NEVER_MS = Date.UTC(9_999, 0);
const KEPT_MAX = 256;

export class Live {
  readonly #context: ConsoleContext;
  readonly #clock: Clock;
  readonly #onTrouble: (error: unknown) => void;
  readonly #listeners = new Set<Listener>();
  /** Another process, or this one after a restart, numbers its events otherwise. */
  readonly #epoch: string = randomBytes(6).toString("base64url");
  #number = 0;
  #kept: LiveEvent[] = [];
  #polling: AbortController | undefined;
  #sinceMs: number | undefined;
  /** What was told of each lately: the instant of its change. */
  #told = new Map<string, number>();
  #versions = new Map<string, number>();
  #attention = "";
  #signs = new Map<string, string>();

  constructor(context: ConsoleContext, onTrouble: (error: unknown) => void) {
    this.#context = context;
    this.#clock = context.db.clock;
    this.#onTrouble = onTrouble;
  }

  get listeners(): number {
    return this.#listeners.size;
  }

  /** Returns how to stop listening. */
  listen(listener: Listener, lastId: string | undefined): () => void {
    for (const event of this.#missed(lastId)) listener.send(event);
    this.#listeners.add(listener);
    if (!this.#polling) void this.#poll();
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size === 0) this.#rest();
    };
  }

  close(): void {
    this.#listeners.clear();
    this.#rest();
  }

  #rest(): void {
    this.#polling?.abort();
    this.#polling = undefined;
    // What happens while nobody looks is not kept: who comes back loads everything again.
    this.#sinceMs = undefined;
    this.#kept = [];
  }

  /** What came after an event that somebody had; where that is not known any more, they load everything again. */
  #missed(lastId: string | undefined): readonly LiveEvent[] {
    if (lastId === undefined) return [];
    const place = this.#kept.findIndex(({ id }) => id === lastId);
    if (place >= 0) return this.#kept.slice(place + 1);
    return lastId === this.#idOf(this.#number) && this.#polling
      ? []
      : [{ id: this.#idOf(this.#number), name: "reset", data: {} }];
  }

  async #poll(): Promise<void> {
    const polling = new AbortController();
    this.#polling = polling;
    while (!polling.signal.aborted) {
      await this.look().catch(this.#onTrouble);
      await sleep(this.#clock, POLL_MS, polling.signal);
    }
  }

  /** Looks once, and tells. */
  async look(): Promise<void> {
    const { db } = this.#context;
    const first = this.#sinceMs === undefined;
    const watched = [...new Set([...this.#listeners].flatMap(({ saga }) => saga ?? []))];
    const limits = { changes: CHANGES_MAX + 1, attention: COUNT_MAX + 1 };
    const rows = await this.#context.query(
      selectNews(db.dialect, this.#sinceMs ?? NEVER_MS, watched, limits),
    );
    const counted = rows.find((row) => row["what"] === "attention");
    const nowMs = Number(counted?.["updated_at"]);
    this.#sinceMs = nowMs - OVERLAP_MS;
    const overdue = await this.#context.overdue();
    const attention = countOf(Number(counted?.["number"]) + overdue, 2 * COUNT_MAX);
    const fresh = this.#fresh(rows.filter((row) => row["what"] === "saga"));
    const versions = this.#moved(rows.filter((row) => row["what"] === "watched"));
    const wasAttention = this.#attention;
    this.#attention = JSON.stringify(attention);
    const parts = this.#stirred(rows.filter((row) => row["what"] === "part"));
    const isCalm = fresh.length + versions.length + parts.length === 0 && this.#attention === wasAttention;
    if (first || isCalm) return;
    const sagas = await toLines(this.#context, fresh.slice(0, CHANGES_MAX));
    const more = fresh.length > CHANGES_MAX;
    this.#tell({ at: iso(nowMs), attention, sagas, more, watched: versions, parts });
  }

  #stirred(rows: readonly Row[]): readonly Part[] {
    const signs = rows.map((row) => [row["id"] as Part, row["name"] as string] as const);
    const stirred = signs.filter(([part, sign]) => this.#signs.get(part) !== sign);
    this.#signs = new Map(signs);
    return stirred.map(([part]) => part);
  }

  #fresh(rows: readonly Row[]): readonly Row[] {
    const fresh = rows.filter((row) => this.#told.get(row["id"] as string) !== Number(row["updated_at"]));
    this.#told = new Map(rows.map((row) => [row["id"] as string, Number(row["updated_at"])]));
    return fresh.toSorted((a, b) => Number(b["updated_at"]) - Number(a["updated_at"]));
  }

  #moved(rows: readonly Row[]): LiveChange["watched"] {
    const versions = rows.map((row) => ({ id: row["id"] as string, version: Number(row["number"]) }));
    const moved = versions.filter(({ id, version }) => this.#versions.get(id) !== version);
    this.#versions = new Map(versions.map(({ id, version }) => [id, version]));
    return moved;
  }

  #tell(data: LiveChange): void {
    const event: LiveEvent = { id: this.#idOf(++this.#number), name: "change", data };
    this.#kept = [...this.#kept, event].slice(-KEPT_MAX);
    for (const listener of this.#listeners) listener.send(event);
  }

  #idOf(number: number): string {
    return `${this.#epoch}-${number}`;
  }
}
