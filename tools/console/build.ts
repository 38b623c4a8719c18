import { join } from "node:path";
import { brotliCompressSync, constants } from "node:zlib";
import { build } from "vite";
import { catalogue } from "./catalogue.ts";

/** Where the built console is, from the root of the checkout. */
export const OUTPUT = ".tools/console";

/**
 * Builds `console/` into {@link OUTPUT}, as the cloud serves it: scripts and style sheets named by
 * their content, each as brotli. What was there before is replaced when all is made.
 *
 * @throws Error with what Vite said.
 */
export async function buildConsole(root: string): Promise<void> {
  const work = await Deno.makeTempDir({ dir: join(root, ".tools"), prefix: ".console-" });
  try {
    const made = join(work, "new");
    await build({
      configFile: join(root, "console", "vite.config.ts"),
      // Else Vite writes a file next to it: the folder would look changed, and all be built again.
      configLoader: "native",
      plugins: [catalogue()],
      logLevel: "warn",
      build: { outDir: made, emptyOutDir: true },
    });
    await compressAll(join(made, "assets"));
    const output = join(root, OUTPUT);
    await replace(output, made, join(work, "old"));
  } finally {
    await Deno.remove(work, { recursive: true });
  }
}

/** Puts a folder in the place of another; one that builds at the same time may have been quicker. */
async function replace(output: string, made: string, old: string): Promise<void> {
  for (let tries = 0;; tries++) {
    await Deno.rename(output, `${old}${tries}`).catch((error: unknown) => {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    });
    try {
      return await Deno.rename(made, output);
    } catch (error) {
      if (tries === 5) throw error;
    }
  }
}

/** Quick, as each first run waits for it; what is shipped is compressed again. */
const BROTLI_QUALITY = 5;

async function compressAll(folder: string): Promise<void> {
  for (const { name } of await Array.fromAsync(Deno.readDir(folder))) {
    const path = join(folder, name);
    const content = await Deno.readFile(path);
    const params = {
      [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY,
      [constants.BROTLI_PARAM_SIZE_HINT]: content.length,
    };
    await Deno.writeFile(`${path}.br`, brotliCompressSync(content, { params }));
    await Deno.remove(path);
  }
}
