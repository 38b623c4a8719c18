/** The outcome of single steps, and what they say together. Pure. */

/** What a step is about. */
export type Subject = "cloud" | "resolver" | "dns" | "stun" | "loss";

export interface Finding {
  readonly subject: Subject;
  /** What was tried, for example `UDP 1.1.1.1:53`. */
  readonly what: string;
  /** `warning`: it works but badly; `skipped`: it could not be tried here, see the detail. */
  readonly outcome: "ok" | "warning" | "failed" | "skipped";
  readonly detail: string;
  /** How long it took; undefined where that says nothing. */
  readonly ms?: number;
}

/** One line a finding, in columns. */
export function table(findings: readonly Finding[]): string {
  const rows = findings.map(({ subject, what, outcome, detail, ms }) => [
    outcome === "failed" ? "FAILED" : outcome,
    subject,
    what,
    ms === undefined ? "" : `${Math.round(ms)} ms`,
    detail,
  ]);
  const widths = [0, 1, 2, 3].map((column) =>
    Math.max(0, ...rows.map((row) => row[column]!.length))
  );
  return rows.map((row) =>
    row.map((cell, i) => i === 3 ? cell.padStart(widths[3]!) : cell.padEnd(widths[i] ?? 0))
      .join("  ").trimEnd() + "\n"
  ).join("");
}

/** Whether the machine can work, in one sentence. */
export interface Verdict {
  readonly ok: boolean;
  readonly text: string;
}

/**
 * The network is good when the cloud answers. Without a cloud it is good when names resolve: single
 * servers of others that do not answer, or are blocked, are no fault of this network.
 */
export function judge(findings: readonly Finding[]): Verdict {
  const of = (subject: Subject) => findings.filter((finding) => finding.subject === subject);
  const failed = findings.filter(({ outcome }) => outcome === "failed");
  const tried = findings.filter(({ outcome }) => outcome !== "skipped");
  if (tried.length > 0 && failed.length === tried.length) {
    return { ok: false, text: "offline: no host that was probed has answered" };
  }
  const cloud = of("cloud").find(({ outcome }) => outcome === "failed");
  if (cloud) return { ok: false, text: `the cloud cannot be reached: ${cloud.what} failed` };
  const names = of("resolver");
  if (of("cloud").length === 0 && names.length > 0 && names.every((f) => f.outcome === "failed")) {
    return { ok: false, text: "names cannot be resolved: check the name servers of this host" };
  }
  const others = failed.length === 0
    ? ""
    : `; ${failed.length} of ${tried.length} single checks failed`;
  const subject = of("cloud").length > 0 ? "the cloud can be reached" : "the network works";
  return { ok: true, text: `${subject}${others}` };
}
