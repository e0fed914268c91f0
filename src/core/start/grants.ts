/**
 * Which lanes a claim may take rows from, and how many of each, so that no limit by key is exceeded. A lane holds the waiting work
 * of one key; lanes may share a key. Lanes without a limit take part as competitors for the slots.
 */
import type { Limits } from "./limits.ts";

/** A lane with due work. */
export interface DueLane {
  readonly lane: string;
  /** What its keys belong to: keys of different names are different keys. */
  readonly name: string;
  /** Undefined: its work has no limits. */
  readonly limits: Limits | undefined;
  /** How many rows of its concurrency key run. */
  readonly running: number;
  /** How many rows of its rate key have begun within its period. */
  readonly begun: number;
}

/** A claim may take `free` rows of this lane. */
export interface Grant {
  readonly lane: string;
  readonly free: number;
}

export interface Granted {
  readonly grants: readonly Grant[];
  /** Lanes have places left that these slots were too few for. */
  readonly isMore: boolean;
}

/** Gives each lane one row in turn, those in front first, as long as its keys and the slots allow. */
export function grantsOf(lanes: readonly DueLane[], slots: number): Granted {
  const limited = lanes.filter(({ limits }) => limits);
  const taken = new Map<string, number>();
  const free = new Map<string, number>();
  const rooms = ({ name, limits, running, begun }: DueLane): readonly Room[] => {
    const { concurrency, rate } = limits as Limits;
    return [
      ...(concurrency ? [{ key: `c ${name} ${concurrency.key}`, places: concurrency.limit - running }] : []),
      ...(rate ? [{ key: `r ${name} ${rate.key}`, places: rate.limit - begun }] : []),
    ];
  };
  const isFree = ({ key, places }: Room): boolean => places > (taken.get(key) ?? 0);
  let open = limited.map((lane) => ({ lane: lane.lane, rooms: rooms(lane) }));
  open = open.filter((lane) => lane.rooms.every(isFree));
  const unlimited = lanes.length - limited.length;
  let left = open.length === 0 ? 0 : Math.ceil((slots * open.length) / (open.length + unlimited));
  while (open.length > 0 && left > 0) {
    for (const one of open) {
      if (left === 0) break;
      if (!one.rooms.every(isFree)) continue;
      for (const { key } of one.rooms) taken.set(key, (taken.get(key) ?? 0) + 1);
      free.set(one.lane, (free.get(one.lane) ?? 0) + 1);
      left--;
    }
    open = open.filter((lane) => lane.rooms.every(isFree));
  }
  return {
    grants: [...free].map(([lane, count]) => ({ lane, free: count })),
    isMore: open.some((lane) => lane.rooms.every(isFree)),
  };
}

/** The places of one key that were free before this claim. */
interface Room {
  readonly key: string;
  readonly places: number;
}
