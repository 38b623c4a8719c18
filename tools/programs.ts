import { join, resolve } from "node:path";

/** Root of the checkout, absolute. */
export const ROOT = resolve(import.meta.dirname ?? ".", "..");

/**
 * A folder of static files that goes next to the bundle. `deno compile` reads the scripts in it as
 * modules, though nothing runs them here: they may import one another only by relative path.
 */
export interface Assets {
  /** Relative to the root of the checkout. */
  readonly from: string;
  /** Name next to the bundle: the last part of what the code gives `buildInfo.assetsDir`. */
  readonly as: string;
  /** Left out: all files, under their own names; else these, each under another name; one ending in `.br` is compressed. */
  readonly files?: Readonly<Record<string, string>>;
}

/** One of the programs we ship. */
export interface Program {
  readonly name: string;
  /** Module with the entry, relative to the root of the checkout. */
  readonly entry: string;
  readonly assets: readonly Assets[];
}

/** What runs models of machine learning. */
const LITERT: Assets = {
  from: "node_modules/@litertjs/core/wasm",
  as: "litert",
  // The loader is run as text; `deno compile` would look for what it imports in a browser.
  files: {
    "litert_wasm_internal.js": "loader.txt.br",
    "litert_wasm_internal.wasm": "litert.bin.br",
  },
};

/** What decodes images. */
const JPEG: Assets = {
  from: "node_modules/@cwasm/jpeg-turbo",
  as: "jpeg",
  files: { "jpeg-turbo.wasm": "turbo.bin.br" },
};

export const PROGRAMS: readonly Program[] = [
  { name: "machine-server", entry: "server/main.ts", assets: [LITERT, JPEG] },
  {
    name: "machine-agent",
    entry: "agent/main.ts",
    assets: [{ from: "agent/updates/guard", as: "guard" }],
  },
  {
    name: "machine-cloud",
    entry: "cloud/main.ts",
    assets: [
      { from: ".tools/console", as: "console" },
      { from: "install", as: "install" },
      { from: "cloud/training/managed/training_script", as: "training_script" },
      { from: "cloud/training/remote/remote_script", as: "remote_script" },
      LITERT,
      JPEG,
    ],
  },
  { name: "machine", entry: "cli/main.ts", assets: [] },
];

/** Finds a program by its name, with or without `machine-`; `cli` is the one for people. */
export function programByName(name: string): Program {
  const program = PROGRAMS.find((p) =>
    p.name === name || p.name === `machine-${name}` || p.entry === `${name}/main.ts`
  );
  if (program) return program;
  throw new Error(
    `there is no program "${name}"; allowed are ${PROGRAMS.map((p) => p.name).join(", ")}`,
  );
}

/**
 * The V8 flags a program runs with, from `tools/v8_flags.txt`, which `tools/launch.sh` reads too.
 *
 * @param text content of the file; read when not given.
 */
export function v8Flags(program: string, text = readFlags()): string[] {
  const line = text.split("\n").find((l) => l.split(/\s+/)[0] === program);
  return line?.split(/\s+/).slice(1).filter(Boolean) ?? [];
}

function readFlags(): string {
  return Deno.readTextFileSync(join(ROOT, "tools", "v8_flags.txt"));
}
