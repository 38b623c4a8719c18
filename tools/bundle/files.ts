import { join } from "node:path";
import { brotliCompressSync, brotliDecompressSync, constants } from "node:zlib";

/** What lies next to assets for us alone: tests, type declarations, and code that is bundled. */
const NOT_SHIPPED = /(_test\.js|\.ts)$/;

/** How well files ending in `.br` are compressed: for a run on this machine, or to be shipped. */
export interface Compression {
  readonly renamed: number;
  /** Left out: as they are. */
  readonly copied?: number;
}

/** A first run waits for it. */
export const QUICK: Compression = { renamed: 1 };
/** Of large files nearly as small as the best, in a tenth of its time. */
export const SMALL: Compression = { renamed: 6, copied: 10 };

function compress(content: Uint8Array, quality: number): Uint8Array {
  const params = {
    [constants.BROTLI_PARAM_QUALITY]: quality,
    [constants.BROTLI_PARAM_SIZE_HINT]: content.length,
  };
  return brotliCompressSync(content, { params });
}

/** Copies some files of a folder, each under another name; those ending in `.br` are compressed. */
export async function copyRenamed(
  from: string,
  to: string,
  files: Readonly<Record<string, string>>,
  { renamed } = QUICK,
): Promise<void> {
  await Deno.mkdir(to, { recursive: true });
  for (const [source, target] of Object.entries(files)) {
    if (target.endsWith(".br")) {
      const content = await Deno.readFile(join(from, source));
      await Deno.writeFile(join(to, target), compress(content, renamed));
    } else await Deno.copyFile(join(from, source), join(to, target));
    // As a package manager left it, it may be closed to others.
    if (Deno.build.os !== "windows") await Deno.chmod(join(to, target), 0o644);
  }
}

/**
 * Copies a folder of static files and everything in it but tests and TypeScript; files
 * already there are replaced, and those ending in `.br` compressed again where it says how.
 */
export async function copyAssets(from: string, to: string, compression = QUICK): Promise<void> {
  await Deno.mkdir(to, { recursive: true });
  for await (const entry of Deno.readDir(from)) {
    const source = join(from, entry.name);
    const target = join(to, entry.name);
    if (entry.isDirectory) await copyAssets(source, target, compression);
    else if (compression.copied !== undefined && entry.name.endsWith(".br")) {
      const content = brotliDecompressSync(await Deno.readFile(source));
      await Deno.writeFile(target, compress(content, compression.copied));
    } else if (!NOT_SHIPPED.test(entry.name)) await Deno.copyFile(source, target);
  }
}
