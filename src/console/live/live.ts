/**
 * Polls for changes once a second, for all browsers together, and only while a browser listens. Recent changes are kept
 * with a sequence number: a browser that reconnects gets what it missed, and one that missed more is asked to load
 * everything again.
 */
import { randomBytes } from "node:crypto";
import type { Clock } from "../../storage/clock.ts";
import { sleep } from "../../storage/clock.ts";
import { now, readFigureGroups } from "../../storage/read/figures.ts";
import { attentionFigures, CHEAP_KINDS } from "../../attention/count.ts";
import { trailSign } from "../../audit/list.ts";
import { runSign } from "../../events/read/list.ts";
import { outboxSign } from "../../outbox/read/figures.ts";
import { changedSagas, sagaVersions, type SagaVersion } from "../../sagas/read/changes.ts";
import type { SagaSummary } from "../../sagas/read/summary.ts";
import { scheduleSign } from "../../schedules/read/figures.ts";
import { webhookSign } from "../../webhooks/read/list.ts";
import type { ConsoleContext } from "../context.ts";
import type { LiveChange, Part } from "../contract.ts";
import { iso, toLines } from "../sagas/lines.ts";

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
/** A commit may become visible this long after the instant that it wrote, so each poll looks back this far. */
const OVERLAP_MS = 5_000;
const CHANGES_MAX = 100;
/** Nothing changed after this: the first look only finds out what time it is. */
const NEVER_MS = Date.UTC(9_999, 0);
const KEPT_MAX = 256;

/** What this loop reports trouble with the database to. */
type Watch = ReturnType<ConsoleContext["amends"]["context"]["watch"]>;

export class Live {
  readonly #context: ConsoleContext;
  readonly #clock: Clock;
  readonly #watch: Watch;
  readonly #listeners = new Set<Listener>();
  /** Another process, or this one after a restart, numbers its events otherwise. */
  readonly #epoch: string = randomBytes(6).toString("base64url");
  #number = 0;
  #kept: LiveEvent[] = [];
  #polling: AbortController | undefined;
  #sinceMs: number | undefined;
  /** The last reported change of each saga, by its instant. */
  #sent = new Map<string, number>();
  #versions = new Map<string, string>();
  #attention = "";
  #signs = new Map<string, string>();

  constructor(context: ConsoleContext, watch: Watch) {
    this.#context = context;
    this.#clock = context.db.clock;
    this.#watch = watch;
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
    // Changes are not kept while no browser listens: a browser that returns loads everything again.
    this.#sinceMs = undefined;
    this.#kept = [];
  }

  /** What came after the last event of a browser. If that event is no longer kept, the browser loads everything again. */
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
      try {
        await this.look();
        this.#watch.answered();
      } catch (error) {
        this.#watch.trouble(error);
      }
      await sleep(this.#clock, POLL_MS, polling.signal);
    }
  }

  /** Polls once and reports the changes. */
  async look(): Promise<void> {
    const { reader } = this.#context;
    const { dialect } = reader;
    const first = this.#sinceMs === undefined;
    const figures = await readFigureGroups(reader, {
      clock: { nowMs: now(dialect) },
      attention: attentionFigures(dialect, CHEAP_KINDS),
      signs: {
        schedules: scheduleSign(dialect),
        outbox: outboxSign(dialect),
        erasures: trailSign(dialect),
        flows: runSign(dialect),
        webhooks: webhookSign(dialect),
      },
    });
    const { nowMs } = figures.clock;
    const fresh = this.#fresh(await changedSagas(reader, this.#sinceMs ?? NEVER_MS, CHANGES_MAX + 1));
    const watched = [...new Set([...this.#listeners].flatMap(({ saga }) => saga ?? []))];
    const versions = this.#moved(await sagaVersions(reader, watched));
    const { total: attention } = await this.#context.attention(figures.attention);
    this.#sinceMs = nowMs - OVERLAP_MS;
    const wasAttention = this.#attention;
    this.#attention = JSON.stringify(attention);
    const parts = this.#stirred(figures.signs);
    const isCalm = fresh.length + versions.length + parts.length === 0 && this.#attention === wasAttention;
    if (first || isCalm) return;
    const sagas = await toLines(reader, fresh.slice(0, CHANGES_MAX));
    const more = fresh.length > CHANGES_MAX;
    this.#tell({ at: iso(nowMs), attention, sagas, more, watched: versions, parts });
  }

  #stirred(signs: Readonly<Partial<Record<Part, string>>>): readonly Part[] {
    const found = Object.entries(signs) as [Part, string][];
    const stirred = found.filter(([part, one]) => this.#signs.get(part) !== one);
    this.#signs = new Map(found);
    return stirred.map(([part]) => part);
  }

  #fresh(sagas: readonly SagaSummary[]): readonly SagaSummary[] {
    const fresh = sagas.filter(({ id, updatedAtMs }) => this.#sent.get(id) !== updatedAtMs);
    this.#sent = new Map(sagas.map(({ id, updatedAtMs }) => [id, updatedAtMs]));
    return fresh;
  }

  #moved(versions: readonly SagaVersion[]): LiveChange["watched"] {
    const signOf = ({ version, reported }: SagaVersion): string => `${version} ${reported ?? ""}`;
    const moved = versions.filter((saga) => this.#versions.get(saga.id) !== signOf(saga));
    this.#versions = new Map(versions.map((saga) => [saga.id, signOf(saga)]));
    return moved.map(({ id, version }) => ({ id, revision: version }));
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
