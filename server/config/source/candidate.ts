/** A configuration on its way to be applied. */
import { canonicalJson } from "../../../shared/base/json/json.ts";
import type { CheckedConfig } from "../../../shared/config/check.ts";
import type { ConfigProblem } from "../../../shared/config/problem.ts";
import { withoutEffect } from "../../../shared/config/without_effect.ts";

export interface Candidate extends CheckedConfig {
  /** Where it comes from, for the log. */
  readonly origin: "cloud" | "cache" | "file";
  /** Equal for configurations that are applied the same way. */
  readonly fingerprint: string;
}

/** Makes a candidate of a checked configuration. */
export function candidateOf(checked: CheckedConfig, origin: Candidate["origin"]): Candidate {
  const fingerprint = canonicalJson([checked.config, checked.problems]);
  return { ...checked, origin, fingerprint };
}

/** The problems for which a configuration is not put in place of one that runs. */
export function refusing(problems: readonly ConfigProblem[]): ConfigProblem[] {
  return problems.filter(({ fatal, path }) =>
    fatal || path === "" || /^(components|services)(\[|$)/.test(path)
  );
}

/** True when one of these problems is not among those of what runs already. */
export function bringsNew(
  problems: readonly ConfigProblem[],
  running: readonly ConfigProblem[],
): boolean {
  const known = running.map(wherever);
  return problems.some((problem) => {
    const at = known.indexOf(wherever(problem));
    if (at >= 0) known.splice(at, 1);
    return at < 0;
  });
}

/** The problem without its place in the list: entries move. */
function wherever(problem: ConfigProblem): string {
  return problemText({ ...problem, path: problem.path.replace(/\[\d+\]/g, "[]") });
}

/** `components[0].name: the name is missing; found nothing, allowed: …` */
export function problemText({ path, message, found, allowed }: ConfigProblem): string {
  const where = path === "" ? "" : `${path}: `;
  const what = found === "" ? "" : `; found ${found}`;
  return `${where}${message}${what}${allowed === "" ? "" : `, allowed: ${allowed}`}`;
}

/** Lists and objects of which the server would be the one to act on the fields without effect. */
const OWN_PARTS = /^(components|services|remotes|auth|fragments|fragment_mods)\b/;

/** One sentence for each part of a configuration that this release does not act on. */
export function ignoredParts({ config }: Candidate): string[] {
  return withoutEffect(config).filter(({ path }) => OWN_PARTS.test(path)).map(problemText);
}
