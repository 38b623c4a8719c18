import { join } from "node:path";
import { build, stop } from "esbuild";

/** The module that a native host starts, relative to the root of the checkout. */
export const ENTRY = "micro/hosts/native/main.ts";

/**
 * A module of `micro/` and all that it imports, in one script of ES2023.
 *
 * @param entry relative to the root of the checkout.
 * @throws Error naming the file and line that esbuild could not take.
 */
export async function bundleScript(root: string, entry: string): Promise<string> {
  try {
    const result = await build({
      absWorkingDir: root,
      entryPoints: [join(root, entry)],
      bundle: true,
      platform: "neutral",
      format: "iife",
      target: "es2023",
      write: false,
      minifySyntax: true,
      legalComments: "none",
      logLevel: "silent",
    });
    return result.outputFiles[0]?.text ?? "";
  } finally {
    await stop();
  }
}
