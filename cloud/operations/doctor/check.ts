/** What the doctor found of one thing. */
export interface Finding {
  /** "database", "tls", … */
  readonly check: string;
  readonly state: "ok" | "warning" | "failed" | "skipped";
  /** What is so. */
  readonly detail: string;
  /** What to do; only where it is not ok. */
  readonly advice?: string;
}

export function ok(check: string, detail: string): Finding {
  return { check, state: "ok", detail };
}

export function warning(check: string, detail: string, advice: string): Finding {
  return { check, state: "warning", detail, advice };
}

export function failed(check: string, detail: string, advice: string): Finding {
  return { check, state: "failed", detail, advice };
}

/** What nothing says where to look for. */
export function skipped(check: string, detail: string, advice: string): Finding {
  return { check, state: "skipped", detail, advice };
}
