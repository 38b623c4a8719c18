/** Which tests reach a file that has changed. */
import { dirname } from "node:path";
import { type Import, readImports, readSources } from "../../tests/habits/sources.ts";

/** They read the whole tree. */
const ALWAYS = "tests/habits/";

/**
 * Tests that import a changed file, over however many others. What else has changed (a page, a
 * script, a table) picks the tests of its folder and below.
 *
 * @param changed paths from the root, of files that are gone, too.
 */
export function testsThatReach(
  changed: readonly string[],
  tests: readonly string[],
  imports: readonly Pick<Import, "from" | "to">[],
): string[] {
  const importers = Map.groupBy(imports, ({ to }) => to);
  const reached = new Set(changed);
  for (const path of reached) {
    for (const { from } of importers.get(path) ?? []) reached.add(from);
  }
  const folders = changed.filter((path) => !path.endsWith(".ts") && !importers.has(path))
    .map((path) => `${dirname(path)}/`);
  return tests.filter((test) =>
    test.startsWith(ALWAYS) || reached.has(test) ||
    folders.some((folder) => folder !== "./" && test.startsWith(folder))
  );
}

/**
 * Tests that reach what is not in `ref`, committed or not.
 *
 * @throws Error when git knows no such commit
 */
export async function testsSince(
  ref: string,
  root: string,
  tests: readonly string[],
): Promise<string[]> {
  const base = await git(root, "merge-base", ref, "HEAD");
  const changed = await git(root, "diff", "--name-only", "--no-renames", base.trim());
  const added = await git(root, "ls-files", "--others", "--exclude-standard");
  const sources = (await readSources()).filter(({ path }) => /\.(ts|svelte)$/.test(path));
  const paths = `${changed}\n${added}`.split("\n").filter(Boolean);
  return testsThatReach(paths, tests, sources.flatMap(readImports));
}

async function git(root: string, ...args: string[]): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command("git", { cwd: root, args }).output();
  if (success) return new TextDecoder().decode(stdout);
  throw new Error(`git ${args.join(" ")}: ${new TextDecoder().decode(stderr).trim()}`);
}
