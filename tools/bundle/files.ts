import { join } from "node:path";

/** What lies beside assets for us alone: tests and type declarations. */
const NOT_SHIPPED = /(_test\.[jt]s|\.d\.ts)$/;

/**
 * Copies a folder of static files and everything in it but tests and type declarations; files
 * already there are replaced.
 */
export async function copyAssets(from: string, to: string): Promise<void> {
  await Deno.mkdir(to, { recursive: true });
  for await (const entry of Deno.readDir(from)) {
    const source = join(from, entry.name);
    const target = join(to, entry.name);
    if (entry.isDirectory) await copyAssets(source, target);
    else if (!NOT_SHIPPED.test(entry.name)) await Deno.copyFile(source, target);
  }
}
