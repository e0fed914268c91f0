/** A service that never answers as it should, and sagas that ask it once. */
export const once = { attempts: 1 } as const;

export function busy(): never {
  throw new Error("busy");
}
