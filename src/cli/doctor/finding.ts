/** One thing that the doctor looked at. `wrong` must be fixed, `warn` may be intended. */
export interface Finding {
  readonly check: string;
  readonly level: "ok" | "warn" | "wrong";
  readonly detail: string;
  /** What to do. */
  readonly advice?: string;
}

export function ok(check: string, detail: string): Finding {
  return { check, level: "ok", detail };
}

export function warn(check: string, detail: string, advice: string): Finding {
  return { check, level: "warn", detail, advice };
}

export function wrong(check: string, detail: string, advice: string): Finding {
  return { check, level: "wrong", detail, advice };
}
