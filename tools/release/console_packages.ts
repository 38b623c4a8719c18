import { join } from "node:path";
import { type Lock, nameAndVersion, withDependencies } from "./sbom.ts";

/**
 * The packages that pages in a browser consist of: those that the console's sources import, with
 * what these need. Some of the latter only help to build them.
 */
export async function consolePackages(folder: string, lock: Lock): Promise<Set<string>> {
  const imported = new Set<string>();
  for await (const path of sources(folder)) {
    const text = await Deno.readTextFile(path);
    for (
      const [, name] of text.matchAll(
        /(?:from|import)\s*\(?\s*"((?:@[\w.-]+\/)?[\w-][\w.-]*)[^"]*"/g,
      )
    ) {
      imported.add(name!);
    }
  }
  const keys = Object.keys(lock.npm).filter((key) => imported.has(nameAndVersion(key).name));
  return withDependencies(keys, lock);
}

async function* sources(folder: string): AsyncGenerator<string> {
  for await (const { name, isDirectory } of Deno.readDir(folder)) {
    const path = join(folder, name);
    if (isDirectory) yield* sources(path);
    else if (/\.(svelte|ts)$/.test(name) && !/(_test|vite\.config|\.d)\.ts$/.test(name)) yield path;
  }
}
