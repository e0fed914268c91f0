/** Outside systems in memory: the reference implementation of a resolver, and a fake that fails on demand. */
import { durationMs, type Duration } from "../../core/duration.ts";
import type { CorrectedValue } from "../../core/outbox/entry.ts";
import type {
  RectifyingResolver,
  RetentionOnlyResolver,
  VerifyingResolver,
} from "../../erasure/remote/resolver.ts";
import type { Clock } from "../../storage/clock.ts";
import { memoryScript, type MemoryScript } from "./memory-script.ts";

/** The data of one subject, by category. */
export type MemoryRecord = Readonly<Record<string, CorrectedValue>>;

/** The options of `memoryResolver`. */
export interface MemoryResolverOptions {
  /** True if the value of a ref is personal data itself. Default: false. */
  readonly personalRef?: boolean;
}

interface Held {
  /** Stores a subject under this value of a ref. */
  put(value: string, record?: MemoryRecord): void;
  /** The stored data; undefined if there is none. */
  get(value: string): MemoryRecord | undefined;
}

/** An outside system in memory that erases, corrects and verifies, and fails on demand. */
export interface MemoryResolver extends RectifyingResolver, VerifyingResolver, MemoryScript, Held {}

/** Makes an outside system in memory, for tests. */
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
  /** How long the system keeps a record after `put`. */
  readonly keeps: Duration;
  /** The clock that decides what has expired. Default: real time. */
  readonly clock?: Clock;
}

/** An outside system in memory that cannot erase, and in which data expires. */
export interface ExpiringMemoryResolver extends RetentionOnlyResolver, MemoryScript, Held {}

/** Makes an outside system in memory that cannot erase, such as a log system, for tests. Its data expires. */
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
