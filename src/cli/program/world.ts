/** What a command knows of the process that it runs in: tests give it another one. */
export interface World {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** Undefined without a terminal: no colours, no progress, and nothing is truncated. */
  readonly terminal: Terminal | undefined;
  /** Asks a person, and returns what was typed. Undefined without a terminal. */
  readonly ask?: ((question: string) => Promise<string>) | undefined;
  out(text: string): void;
  err(text: string): void;
  /** Fires when the process gets a stop signal. */
  readonly stop: AbortSignal;
  nowMs(): number;
}

export interface Terminal {
  readonly columns: number;
  readonly colours: boolean;
}

/** Whether errors of the user's code are printed with their stacks. */
export function isDebug({ env }: World): boolean {
  return (env["AMENDS_DEBUG"] ?? "") !== "";
}

/** 0: done. 1: an error. 2: invalid usage. 3: done, and something needs attention. */
export type ExitCode = 0 | 1 | 2 | 3;
