import { innerPathProblem } from "../item_rules.ts";
import { ArchiveError } from "./archive.ts";
import type { ModuleMeta } from "./meta.ts";

/** A path in an archive, and who names it: `entrypoint in meta.json`. */
export interface NamedPath {
  readonly path: string;
  readonly source: string;
}

/**
 * The program that starts a module, as the registry keeps it.
 *
 * @param archive its name, for errors
 * @param files paths that it holds
 * @throws {ArchiveError} when the archive holds no such file, or not that of the first run
 */
export function checkedEntrypoint(
  archive: string,
  files: ReadonlySet<string>,
  { path: given, source }: NamedPath,
  meta: Pick<ModuleMeta, "firstRun"> | undefined,
): string {
  const path = withoutDot(given);
  const problem = innerPathProblem(path);
  if (problem) throw new ArchiveError(`${source}: ${problem}`);
  requireFile(archive, files, { path, source });
  const firstRun = meta?.firstRun;
  if (firstRun !== undefined) {
    requireFile(archive, files, { path: withoutDot(firstRun), source: "first_run in meta.json" });
  }
  return path;
}

/** A path from the root of an archive, however it was written. */
export function withoutDot(path: string): string {
  return path.replace(/^(\.\/)+/, "");
}

function requireFile(archive: string, files: ReadonlySet<string>, { path, source }: NamedPath) {
  if (files.has(path)) return;
  const name = path.split("/").at(-1) ?? path;
  const near = [...files].find((file) => file === name || file.endsWith(`/${name}`));
  const hint = near === undefined ? "" : `; did you mean ${near}?`;
  throw new ArchiveError(
    `${source}: ${archive} holds no file ${JSON.stringify(path)}${hint}`,
  );
}
