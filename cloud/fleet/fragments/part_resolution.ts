import { createHash } from "node:crypto";
import { Code } from "@connectrpc/connect";
import { formatPath, formatProblem } from "../../../shared/config/problem.ts";
import { MOST_PROBLEMS, validateReading } from "../../../shared/config/validate.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import { listed } from "../configuration/config_check.ts";
import { type ConfigDocument, documentOf, sizeProblem } from "../configuration/config_document.ts";
import { RecentDocuments } from "../configuration/recent_documents.ts";
import { FragmentProblem } from "./fragment_problem.ts";
import { FragmentSources } from "./fragment_sources.ts";
import type { Origin, ValueSource } from "./merged_config.ts";
import { hasFragments, resolveConfig, type Resolved } from "./resolve.ts";
import { refusal } from "../../../shared/rpc/reasons.ts";

/** A part's configuration with its fragments, ready to be kept. */
export interface PartResolution {
  readonly document: ConfigDocument;
  readonly hash: string;
  readonly resolved: Resolved;
}

/**
 * Resolves what a part of an organisation includes; undefined when it includes nothing.
 *
 * @throws {FragmentProblem}
 */
export async function resolveFor(
  queries: Queries,
  orgId: string,
  config: ConfigDocument,
): Promise<PartResolution | undefined> {
  return await resolveWith(new FragmentSources(queries, orgId), config);
}

/** {@link resolveFor} with fragments that may have been read before. @throws {FragmentProblem} */
export async function resolveWith(
  sources: FragmentSources,
  config: ConfigDocument,
): Promise<PartResolution | undefined> {
  if (!hasFragments(config.value)) return undefined;
  const lookup = await sources.load(config.value);
  const resolved = resolveConfig(config.value, lookup);
  const document = documentOf(resolved.config);
  const problem = sizeProblem(document, "resolved");
  if (problem) {
    throw new FragmentProblem("invalid", "", `the configuration with its fragments ${problem}`);
  }
  const hash = createHash("sha256").update(document.text).digest("hex");
  return { document, hash, resolved };
}

/**
 * {@link resolveFor} for a save: the resolved configuration is checked like one without fragments.
 * Throws INVALID_ARGUMENT.
 *
 * @param options.advice what else the refusal says of a problem
 * @param options.documents keep what was read of it, for the machine that fetches it
 */
export async function resolveForSave(
  queries: Queries,
  orgId: string,
  config: ConfigDocument,
  { advice = () => "", documents = new RecentDocuments() }: {
    readonly advice?: (problem: FragmentProblem) => string;
    readonly documents?: RecentDocuments | undefined;
  } = {},
): Promise<PartResolution | undefined> {
  try {
    const resolution = await resolveFor(queries, orgId, config);
    if (resolution) requireValid(resolution, documents);
    return resolution;
  } catch (error) {
    if (!(error instanceof FragmentProblem)) throw error;
    const problem = error.message + advice(error);
    throw refusal(
      "CONFIG_REFUSED",
      { problem },
      `the configuration was not saved: ${problem}`,
      Code.InvalidArgument,
    );
  }
}

function requireValid(
  { document, resolved: { sources } }: PartResolution,
  documents: RecentDocuments,
): void {
  const problems = validateReading(documents.keep(document, MOST_PROBLEMS));
  if (problems.length === 0) return;
  const list = listed(problems, (problem) => {
    const origin = originAt(sources, problem.path);
    return formatProblem(problem) + (origin ? ` (of fragment ${origin.fragmentId})` : "");
  });
  throw new FragmentProblem("invalid", "", `with its fragments: ${list}`);
}

/** Where the value at a path comes from; a path as {@link sourcePath} writes it. */
export function originAt(sources: readonly ValueSource[], path: string): Origin {
  let found = { length: -1, origin: undefined as Origin };
  for (const source of sources) {
    const start = sourcePath(source);
    const covers = path.startsWith(start) && ["", ".", "["].includes(path.charAt(start.length));
    if (covers && start.length >= found.length) {
      found = { length: start.length, origin: source.origin };
    }
  }
  return found.origin;
}

/** A path as people read it: `components[0].attributes.x`. */
export function sourcePath(source: ValueSource): string {
  return formatPath([...source.path]);
}

/** Keeps what a part gets. Call it in the transaction that saves the part. */
export async function keepResolution(
  queries: Queries,
  partIds: readonly string[],
  resolution: PartResolution | undefined,
): Promise<void> {
  if (partIds.length === 0) return;
  await queries.deleteFrom("part_fragments").where("part_id", "in", partIds).execute();
  if (!resolution) {
    await queries.deleteFrom("part_resolved").where("part_id", "in", partIds).execute();
    return;
  }
  const { hash, document, resolved } = resolution;
  await queries.insertInto("resolved_configs").values({ hash, config: document.text })
    .onConflict((conflict) => conflict.doNothing()).execute();
  await queries.insertInto("part_resolved")
    .values(partIds.map((id) => ({ part_id: id, hash, problem: "" })))
    .onConflict((conflict) => conflict.column("part_id").doUpdateSet({ hash, problem: "" }))
    .execute();
  for (const { id, revision } of resolved.used) {
    await queries.insertInto("part_fragments")
      .values(partIds.map((partId) => ({ part_id: partId, fragment_id: id, revision })))
      .onConflict((conflict) => conflict.doNothing()).execute();
  }
}
