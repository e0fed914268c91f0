/**
 * A machine is its table: states, and for each the events that may happen in it and the state each leads to. Types,
 * guards of updates, CHECK constraints, partial indexes, diagrams and exhaustive tests are all derived from it, and
 * nothing else names a target state.
 */
type Shape = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** Every arrow must end in a declared state, or the table does not compile. */
type Closed<T extends Shape> = {
  readonly [S in keyof T]: { readonly [E in keyof T[S]]: keyof T };
};

export type StateOf<M> = M extends Machine<infer T> ? keyof T & string : never;
export type EventOf<M> = M extends Machine<infer T> ? EventsIn<T> : never;
type EventsIn<T extends Shape> = { [S in keyof T]: keyof T[S] & string }[keyof T];

export interface Machine<T extends Shape> {
  readonly table: T;
  readonly states: readonly (keyof T & string)[];
  readonly events: readonly EventsIn<T>[];
  /** The initial state: the first of the table. */
  readonly initial: keyof T & string;
  /** Final states. */
  readonly terminal: readonly (keyof T & string)[];
  /** The state that the event leads to, or undefined if the event is refused in this state. */
  target(state: keyof T & string, event: EventsIn<T>): (keyof T & string) | undefined;
  /** The state that the event leads to. Throws if the table has no such arrow, which is a bug. */
  move(state: keyof T & string, event: EventsIn<T>): keyof T & string;
  /** The states in which the event may happen: the guard of its update. */
  sources(event: EventsIn<T>): readonly (keyof T & string)[];
  /** The event that leads from one state to the other, or undefined if there is no arrow. */
  arrow(from: keyof T & string, to: keyof T & string): EventsIn<T> | undefined;
  isTerminal(state: keyof T & string): boolean;
}

export function machine<const T extends Shape>(table: T & Closed<T>): Machine<T> {
  type State = keyof T & string;
  type Event = EventsIn<T>;
  const states = Object.keys(table) as State[];
  const listed = new Map(
    states.map((state) => [state, Object.entries(table[state] as object) as [Event, State][]]),
  );
  const arrows = (state: State): [Event, State][] => listed.get(state) ?? [];
  const terminal = states.filter((state) => arrows(state).length === 0);
  const target = (state: State, event: Event): State | undefined =>
    (table[state] as Readonly<Record<string, State>> | undefined)?.[event];
  return {
    table,
    states,
    events: [...new Set(states.flatMap((state) => arrows(state).map(([event]) => event)))],
    initial: states[0] as State,
    terminal,
    target,
    move: (state, event) => {
      const to = target(state, event);
      if (to === undefined) throw new Error(`no arrow for ${event} in state ${state}`);
      return to;
    },
    sources: (event) => states.filter((state) => arrows(state).some(([name]) => name === event)),
    arrow: (from, to) => arrows(from).find(([, end]) => end === to)?.[0],
    isTerminal: (state) => terminal.includes(state),
  };
}

/** The machine as a Mermaid state diagram: the same table, always the same text. */
export function machineDiagram<T extends Shape>(of: Machine<T>): string {
  const lines = ["stateDiagram-v2", `  [*] --> ${of.initial}`];
  for (const state of of.states) {
    for (const [event, target] of Object.entries(of.table[state] as object)) {
      lines.push(`  ${state} --> ${String(target)}: ${event}`);
    }
    if (of.isTerminal(state)) lines.push(`  ${state} --> [*]`);
  }
  return `${lines.join("\n")}\n`;
}
