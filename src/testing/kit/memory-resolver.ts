/** Outside systems that live in memory: the reference for what a resolver does, and a stand-in that fails on demand. */
import { durationMs, type Duration } from "../../core/duration.ts";
import type { CorrectedValue } from "../../core/outbox/entry.ts";
import type {
  RectifyingResolver,
  RetentionOnlyResolver,
  VerifyingResolver,
} from "../../erasure/remote/resolver.ts";
import type { Clock } from "../../storage/clock.ts";
import { memoryScript, type MemoryScript } from "./memory-script.ts";

/** What is held of one subject, by category. */
export type MemoryRecord = Readonly<Record<string, CorrectedValue>>;

/** The options of `memoryResolver`. */
export interface MemoryResolverOptions {
  /** The ref's value is personal data itself. */
  readonly personalRef?: boolean;
}

interface Held {
  /** Makes the system hold a subject under this value of a ref. */
  put(value: string, record?: MemoryRecord): void;
  /** What it holds, or undefined. */
  get(value: string): MemoryRecord | undefined;
}

/** A system in memory that erases, corrects and verifies, and fails on demand. */
export interface MemoryResolver extends RectifyingResolver, VerifyingResolver, MemoryScript, Held {}

/** Makes a system in memory that fails when it is told to. */
export function memoryResolver(name: string, options: MemoryResolverOptions = {}): MemoryResolver {
  const records = new Map<string, MemoryRecord>();
  const { play, script } = memoryScript();
  return {
    ...script,
    name,
    personalRef: options.personalRef ?? false,
    put: (value, record = {}) => void records.set(value, record),
    get: (value) => records.get(value),
    eraseSubject: (ref, call) =>
      play("erase", ref, call, () => (records.delete(ref.value) ? {} : { alreadyAbsent: true })),
    rectifySubject: (ref, corrections, call) =>
      play("rectify", ref, call, () => {
        const record = records.get(ref.value);
        if (!record || corrections.every(({ category, value }) => record[category] === value)) {
          return { alreadyConsistent: true };
        }
        const right = corrections.map(({ category, value }) => [category, value] as const);
        records.set(ref.value, { ...record, ...Object.fromEntries(right) });
        return {};
      }),
    verifyAbsent: (ref, call) => play("verify", ref, call, () => !records.has(ref.value)),
  };
}

/** The options of `expiringMemoryResolver`. */
export interface ExpiringMemoryResolverOptions extends MemoryResolverOptions {
  /** How long a record is kept after it was put. */
  readonly keeps: Duration;
  /** Real time unless given. */
  readonly clock?: Clock;
}

/** A system in memory that erases by itself after some time. */
export interface ExpiringMemoryResolver extends RetentionOnlyResolver, MemoryScript, Held {}

/** Such as a log system: nothing can be erased, everything expires. */
export function expiringMemoryResolver(
  name: string,
  options: ExpiringMemoryResolverOptions,
): ExpiringMemoryResolver {
  const keepsMs = durationMs(options.keeps, "expiringMemoryResolver: keeps");
  const nowMs = options.clock?.virtualNowMs ?? Date.now;
  const records = new Map<string, { readonly record: MemoryRecord; readonly expiresAtMs: number }>();
  const held = (value: string): { record: MemoryRecord; expiresAtMs: number } | undefined => {
    const found = records.get(value);
    return found && found.expiresAtMs > nowMs() ? found : undefined;
  };
  const { play, script } = memoryScript();
  return {
    ...script,
    name,
    personalRef: options.personalRef ?? false,
    put: (value, record = {}) => void records.set(value, { record, expiresAtMs: nowMs() + keepsMs }),
    get: (value) => held(value)?.record,
    scheduleErasure: (ref, call) =>
      play("schedule", ref, call, () => {
        const found = held(ref.value);
        return found ? { expiresAt: new Date(found.expiresAtMs) } : { alreadyAbsent: true as const };
      }),
  };
}
