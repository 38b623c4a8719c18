/** A configuration on its way to be applied. */
import type { CheckedConfig } from "../../shared/config/check.ts";
import type { ConfigProblem } from "../../shared/config/problem.ts";
import type { JsonObject } from "@bufbuild/protobuf";
import { canonicalJson, type ResourceSpec } from "../resources/target.ts";
import { type ReadVariable, resolvePlaceholders } from "./placeholders.ts";

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

/** `components[0].name: the name is missing; found nothing, allowed: …` */
export function problemText({ path, message, found, allowed }: ConfigProblem): string {
  const where = path === "" ? "" : `${path}: `;
  const what = found === "" ? "" : `; found ${found}`;
  return `${where}${message}${what}${allowed === "" ? "" : `, allowed: ${allowed}`}`;
}

/** All components and services as the resource graph takes them. */
export function resourceSpecs(
  { config }: Candidate,
  read: ReadVariable,
  warn: (message: string) => void,
): ResourceSpec[] {
  return [...config.components, ...config.services].map((entry) => {
    const written = (entry.attributes ?? {}) as JsonObject;
    const { attributes, missing } = resolvePlaceholders(written, read);
    for (const name of missing) {
      warn(`${entry.api}/${entry.name}: the variable ${name} is not set; its placeholder stays`);
    }
    return {
      name: entry.name,
      api: entry.api,
      model: entry.model,
      attributes,
      dependsOn: entry.depends_on ?? [],
    };
  });
}

/** One sentence for each part of a configuration that this release does not act on. */
export function ignoredParts({ config }: Candidate): string[] {
  const lists = ["modules", "remotes", "packages", "jobs"] as const;
  const notes = lists.filter((key) => config[key].length > 0)
    .map((key) => `${key} of the configuration are not run by this release`);
  if (config.tracing?.enabled) {
    notes.push("tracing of the configuration is not done by this release");
  }
  const { tls_auth_entities: entities, external_auth_config: external } = config.auth ?? {};
  if (entities?.length) notes.push("auth.tls_auth_entities are not accepted by this release");
  if (external) notes.push("auth.external_auth_config is not accepted by this release");
  return notes;
}
