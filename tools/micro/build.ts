import { basename, dirname, join } from "node:path";
import type { Project } from "./project.ts";
import { fetchAll, Objects, type Part } from "./objects.ts";
import { LINUX_RECIPES } from "./recipes.ts";
import type { Library } from "./sources.ts";
import { type MicroTarget, ownTarget } from "./targets.ts";
import { zigToolchain } from "./toolchain.ts";

/** What is built, with what. */
export interface BuildOptions {
  readonly root: string;
  /** Zig's compiler. */
  readonly zig: string;
  readonly version: string;
  readonly commit: string;
  /** The module that runs, relative to `root`, or a project's. Default: the machine. */
  readonly entry?: string | Project;
  /** Where the program goes. Default: `dist/machine-micro-server-TARGET`. */
  readonly output?: string;
}

/** A finished program. */
export interface Built {
  /** Stripped. */
  readonly file: string;
  /** Makes the same with its symbols, with a C library of its own; gives its path. */
  readonly withSymbols: () => Promise<string>;
  readonly parts: readonly Part[];
  /** Bytes of the script's bytecode. */
  readonly bytecode: number;
}

/**
 * Makes machine-micro-server for a target.
 *
 * @throws Error with what the compiler said.
 */
export async function buildMicro(target: MicroTarget, options: BuildOptions): Promise<Built> {
  // One at a time: two would both compile the libraries.
  using _lock = await lockBuilds(options.root);
  const { root } = options;
  const sources = await fetchAll(LINUX_RECIPES, root);
  const name = `machine-micro-server-${target.name}`;
  const file = options.output ?? join(root, "dist", name);
  const home = join(root, ".tools", "micro");
  // What differs from one program to the next; two of them may be made at once.
  const work = join(home, target.name, `host-${basename(file)}`);
  await Deno.mkdir(work, { recursive: true });
  await Deno.mkdir(dirname(file), { recursive: true });
  const own = await linuxObjects(ownTarget(), options, sources);
  const bytecode = await own.bytecode(work, options.entry);
  const build = await linuxObjects(target, options, sources);
  const parts = [...await build.libraries(), await build.host(work, options)];
  const objects = parts.flatMap((part) => part.objects);
  await build.link(`${file}.new`, objects, ["-static", "-s"]);
  await Deno.rename(`${file}.new`, file);
  const withSymbols = async () => {
    await build.link(join(work, name), objects, ["-static"]);
    return join(work, name);
  };
  return { file, withSymbols, parts, bytecode };
}

/** Waits until no other build runs. */
export async function lockBuilds(root: string): Promise<Deno.FsFile> {
  const home = join(root, ".tools", "micro");
  await Deno.mkdir(home, { recursive: true });
  const lock = await Deno.open(join(home, "LOCK"), { create: true, write: true });
  await lock.lock(true);
  return lock;
}

/** Objects for a target with Linux. */
export async function linuxObjects(
  target: MicroTarget,
  { root, zig }: BuildOptions,
  sources: ReadonlyMap<Library, string>,
): Promise<Objects> {
  return new Objects({
    root,
    sources,
    toolchain: await zigToolchain(root, zig, target),
    folder: join(root, ".tools", "micro", target.name),
    recipes: LINUX_RECIPES,
    host: "linux",
    mbedtls: "mbedtls_user.h",
    settings: ["micro/hosts/native/mbedtls_user.h"],
  });
}
