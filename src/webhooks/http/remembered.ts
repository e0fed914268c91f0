/** Answers that never change, kept so that they are worked out once: for texts that come again and again. */

const MAX = 1_000;

export interface Remembered<T> {
  get(text: string): T;
  forget(): void;
}

export function remembered<T extends object | string>(workOut: (text: string) => T): Remembered<T> {
  const known = new Map<string, T>();
  return {
    get(text) {
      const found = known.get(text);
      if (found !== undefined) return found;
      const answer = workOut(text);
      // Simply begun anew when it is full: what is in use comes back at once.
      if (known.size >= MAX) known.clear();
      known.set(text, answer);
      return answer;
    },
    forget: () => known.clear(),
  };
}
