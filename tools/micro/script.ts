import { join } from "node:path";
import { build, type BuildOptions, type Plugin, stop } from "esbuild";
import { ENUMS, MESSAGES, METHODS } from "../../shared/gen/micro/messages.ts";
import type { Project } from "./project.ts";

/** The module that a native host starts, relative to the root of the checkout. */
export const ENTRY = "micro/hosts/native/main.ts";

/**
 * A module of `micro/`, or a project's program, and all that it imports, in one script of ES2023.
 *
 * @param source a path relative to the root of the checkout, or the project.
 * @param lean with short names of variables
 * @throws Error naming the file and line that esbuild could not take.
 */
export async function bundleScript(
  root: string,
  source: string | Project,
  { lean = false } = {},
): Promise<string> {
  try {
    const result = await build({
      ...(typeof source === "string"
        ? { entryPoints: [join(root, source)] }
        : projectInput(root, source)),
      absWorkingDir: root,
      bundle: true,
      platform: "neutral",
      format: "iife",
      target: "es2023",
      write: false,
      minifySyntax: true,
      minifyIdentifiers: lean,
      legalComments: "none",
      plugins: [nativeTables(root)],
      logLevel: "silent",
    });
    return result.outputFiles?.[0]?.text ?? "";
  } finally {
    await stop();
  }
}

/** The tables are in the C part: {@link tableEntries}. */
function nativeTables(root: string): Plugin {
  const path = join(root, "micro/hosts/native/tables.ts");
  return {
    name: "tables",
    setup: (build) => build.onResolve({ filter: /^\.\/tables\.ts$/ }, () => ({ path })),
  };
}

/** Lines of C with the entries of all tables, in the order of their names. */
export function tableEntries(): string {
  const entries = Object.entries({ ...MESSAGES, ...ENUMS, ...METHODS });
  return entries.map((entry) => `{${entry.map((text) => JSON.stringify(text)).join(", ")}},\n`)
    .sort().join("");
}

function projectInput(root: string, { folder, updateKey }: Project): BuildOptions {
  const module = (path: string): string => JSON.stringify(path);
  const key = updateKey ? `, Uint8Array.of(${updateKey.join()})` : "";
  return {
    alias: { "machine-micro": join(root, "micro/core/project.ts") },
    stdin: {
      resolveDir: root,
      loader: "ts",
      contents: `import parts from ${module(join(folder, "program.ts"))};\n` +
        `import { nativeProgram } from ${module(join(root, "micro/hosts/native/program.ts"))};\n` +
        `Object.assign(globalThis, { machineMicro: nativeProgram(parts${key}) });\n`,
    },
  };
}
