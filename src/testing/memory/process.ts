/** A simulated process that can be killed and drives a saga in memory: only the log of the saga survives. */
import type { AnySaga } from "../../sagas/define/definition.ts";
import { drive, stall } from "../../sagas/driver/drive.ts";
import type { SagaHost, PendingCall } from "../../sagas/driver/saga-host.ts";
import { outlastCalls } from "../../sagas/driver/orphaned-calls.ts";
import { Breakers } from "../../sagas/engine/breakers.ts";
import { refusalOf } from "../../sagas/engine/refusal.ts";
import type { StepCallTools } from "../../sagas/engine/step-calls.ts";
import type { SagaRecord } from "../../sagas/journal/journal.ts";
import type { VirtualClock } from "../kit/virtual-clock.ts";
import { MemoryHost } from "./saga-host.ts";
import type { MemorySaga } from "./saga.ts";
import { Mortality } from "../kit/mortality.ts";

/** The default of `Amends`. */
const GRACE_MS = 10_000;

export class MemoryProcess extends Mortality {
  readonly saga: AnySaga;
  readonly #tools: StepCallTools;

  constructor(clock: VirtualClock, makeSaga: (process: MemoryProcess) => AnySaga) {
    super();
    this.saga = makeSaga(this);
    const own = this.clock(clock);
    let ids = 0;
    this.#tools = {
      journal: { keepsEvents: true },
      clock: own,
      middleware: [],
      errorCodes: new Set(),
      keepMessages: false,
      graceMs: GRACE_MS,
      breakers: new Breakers(own),
      newId: () => `event-${++ids}`,
    };
  }

  /** Drives the saga until it ends, stalls or is released. `record`: the saga as it was claimed. */
  async drive(saga: MemorySaga, record: SagaRecord): Promise<void> {
    const real = new MemoryHost(this.#tools, saga, record, this.saga);
    const { run } = real;
    const host = this.#host(real);
    const refusal = refusalOf(record, this.saga);
    await (refusal ? stall(host, run, refusal) : drive(host, run));
    await outlastCalls(host, run);
  }

  #host(host: MemoryHost): SagaHost {
    return {
      isDraining: false,
      isPaused: false,
      get interruption() {
        return host.interruption;
      },
      nowMs: () => host.nowMs(),
      settings: (step) => host.settings(step),
      call: (command) => (this.isAlive ? host.call(command) : unanswered(command)),
      until: (pendings, ms) => this.whileAlive(() => host.until(pendings, ms)),
      record: (lines) => this.whileAlive(() => host.record(lines), true),
      reread: () => this.whileAlive(() => host.reread()),
      arrivals: () => this.whileAlive(() => host.arrivals()),
      warn: () => undefined,
    };
  }
}

function unanswered(command: PendingCall["command"]): PendingCall {
  return { command, isOver: false, value: undefined };
}
