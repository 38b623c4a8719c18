import { dirname, join, posix } from "node:path";
import { ROOT } from "../../tools/programs.ts";

/** A text file of the project. */
export interface Source {
  /** Relative to the root of the checkout, with slashes. */
  path: string;
  text: string;
}

/** An import of one of our own files. */
export interface Import {
  from: string;
  to: string;
  /** Only types: gone once compiled, so it ties no modules together at run time. */
  typeOnly: boolean;
}

const BINARY = /\.(png|ico|jpg|webp|woff2?|gz|zip|wasm)$/;

/**
 * The files a commit would hold: tracked ones and new ones that are not ignored. Generated files
 * are left out.
 */
export async function readSources(): Promise<Source[]> {
  const { success, stdout, stderr } = await new Deno.Command("git", {
    cwd: ROOT,
    args: ["ls-files", "-z", "--cached", "--others", "--exclude-standard"],
  }).output();
  if (!success) throw new Error(`git ls-files failed: ${new TextDecoder().decode(stderr)}`);
  const paths = new Set(new TextDecoder().decode(stdout).split("\0").filter(Boolean));
  const sources: Source[] = [];
  for (const path of paths) {
    if (path.startsWith("shared/gen/") || BINARY.test(path)) continue;
    const text = await Deno.readTextFile(join(ROOT, path)).catch((error: unknown) => {
      // Deleted in the working tree, not yet in git.
      if (error instanceof Deno.errors.NotFound) return undefined;
      throw error;
    });
    if (text !== undefined) sources.push({ path, text });
  }
  return sources;
}

const STATEMENT =
  /^\s*(?:import|export)\s+(type\s)?(?:[^"';]*?\sfrom\s+)?["'](\.{1,2}\/[^"']+)["']/gm;
const DYNAMIC = /\bimport\(\s*["'](\.{1,2}\/[^"']+)["']/g;

/** Relative imports and re-exports of a TypeScript file, resolved to paths from the root. */
export function readImports({ path, text }: Source): Import[] {
  const resolve = (specifier: string) => posix.join(dirname(path), specifier);
  return [
    ...[...text.matchAll(STATEMENT)].map((match) => ({
      from: path,
      to: resolve(match[2] ?? ""),
      typeOnly: match[1] !== undefined || onlyTypes(match[0]),
    })),
    ...[...text.matchAll(DYNAMIC)].map((match) => ({
      from: path,
      to: resolve(match[1] ?? ""),
      typeOnly: false,
    })),
  ];
}

/** `import { type A, type B } from` names nothing but types. */
function onlyTypes(statement: string): boolean {
  const names = /^\s*(?:import|export)\s*\{([^}]*)\}/.exec(statement)?.[1];
  const parts = names?.split(",").map((part) => part.trim()).filter(Boolean) ?? [];
  return parts.length > 0 && parts.every((part) => part.startsWith("type "));
}

/**
 * Groups of names that reach one another.
 *
 * @param edges from name to the names it points at.
 * @returns every group of two or more, its names sorted.
 */
export function cycles(edges: ReadonlyMap<string, ReadonlySet<string>>): string[][] {
  const index = new Map<string, number>();
  const low = new Map<string, number>();
  const stack: string[] = [];
  const groups: string[][] = [];
  const visit = (name: string): void => {
    index.set(name, index.size);
    low.set(name, index.get(name) ?? 0);
    stack.push(name);
    for (const next of edges.get(name) ?? []) {
      if (!index.has(next)) visit(next);
      if (stack.includes(next)) {
        low.set(name, Math.min(low.get(name) ?? 0, low.get(next) ?? 0));
      }
    }
    if (low.get(name) !== index.get(name)) return;
    const group = stack.splice(stack.indexOf(name));
    if (group.length > 1) groups.push(group.sort());
  };
  for (const name of edges.keys()) if (!index.has(name)) visit(name);
  return groups;
}
