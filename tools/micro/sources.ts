import { dirname, join } from "node:path";
import process from "node:process";
import { homedir } from "node:os";
import { digest, Pins, requireDigest } from "../compile/pins.ts";
import { run } from "./run.ts";

/** A library in C that machine-micro-server is made of, as a crate of the Rust registry carries it. */
export interface Library {
  readonly name: string;
  /** What the crate carries, as the documentation names it. */
  readonly carries: string;
  readonly crate: string;
  readonly version: string;
  /** Folder of the sources in the crate. */
  readonly folder: string;
  /** What is changed in them: a file in the form of `git apply`, relative to the root. */
  readonly patch?: string;
}

/** `cargo info` came with 1.82. */
const LEAST_MINOR = 82;

/** All of them; `tools/pins.txt` has their checksums. */
export const LIBRARIES = {
  quickjs: {
    name: "quickjs",
    carries: "QuickJS-ng 0.18.0 (MIT)",
    crate: "libquickjs-ng-sys",
    version: "0.14.0",
    folder: "embed/quickjs",
    patch: "tools/micro/quickjs-ng.patch",
  },
  mbedtls: {
    name: "mbedtls",
    carries: "Mbed TLS 3.6.5 (Apache-2.0)",
    crate: "mbedtls-rs-sys",
    version: "0.3.1",
    folder: "mbedtls",
  },
  monocypher: {
    name: "monocypher",
    carries: "Monocypher 4.0.2 (CC0-1.0 or BSD-2-Clause)",
    crate: "monocypher-sys",
    version: "4.0.2",
    folder: "Monocypher/src",
  },
  lwip: {
    name: "lwip",
    carries: "lwIP 2.2.1 (BSD-3-Clause)",
    crate: "lwip",
    version: "0.4.0",
    folder: "src",
  },
} as const satisfies Readonly<Record<string, Library>>;

/**
 * Folder with a library's sources, fetched where it is not there yet.
 *
 * @param home where sources are kept.
 * @throws Error saying what is missing, or that the file is not the pinned one.
 */
export async function sourcesOf(library: Library, root: string, home: string): Promise<string> {
  const { crate, version, patch } = library;
  const patchFile = patch && join(root, patch);
  const mark = patchFile
    ? `-${(await digest("SHA-256", await Deno.readFile(patchFile))).slice(0, 8)}`
    : "";
  const folder = join(home, `${crate}-${version}${mark}`);
  const sources = join(folder, library.folder);
  if (await exists(sources)) return sources;
  const pins = new Pins(await Deno.readTextFile(join(root, "tools", "pins.txt")));
  const wanted = pins.crate(crate, version);
  const file = await fetchCrate(crate, version);
  requireDigest(
    `the crate ${crate} ${version}`,
    await digest("SHA-256", await Deno.readFile(file)),
    wanted,
  );
  await Deno.mkdir(home, { recursive: true });
  const work = await Deno.makeTempDir({ dir: home, prefix: ".unpacking-" });
  try {
    await run("tar", ["-xzf", file, "-C", work]);
    const unpacked = join(work, `${crate}-${version}`);
    if (patchFile) await apply(patchFile, join(unpacked, library.folder));
    await Deno.rename(unpacked, folder);
  } catch (error) {
    // Another build was first.
    if (!await exists(sources)) throw error;
  } finally {
    await Deno.remove(work, { recursive: true });
  }
  return sources;
}

/** Changes sources; as a folder of its own, whatever checkout it lies in. */
async function apply(patch: string, folder: string): Promise<void> {
  const env = { GIT_CEILING_DIRECTORIES: dirname(folder) };
  await run("git", ["apply", "--whitespace=nowarn", patch], { cwd: folder, env });
}

/**
 * Why the sources cannot be had on this host: no cargo, or one that is too old. Undefined when
 * they can.
 */
export async function noSourcesBecause(): Promise<string | undefined> {
  const said = await run("cargo", ["--version"]).catch(() => "");
  const [, major, minor] = said.match(/^cargo (\d+)\.(\d+)/) ?? [];
  if (Number(major) > 1 || Number(minor) >= LEAST_MINOR) return undefined;
  return `no cargo 1.${LEAST_MINOR} or newer here, which fetches the sources of machine-micro-server`;
}

/** Cargo keeps what it fetched to tell about a crate. */
async function fetchCrate(crate: string, version: string): Promise<string> {
  const kept = await keptCrate(crate, version);
  if (kept) return kept;
  try {
    await run("cargo", ["info", "--quiet", `${crate}@${version}`], {
      cwd: Deno.env.get("TMPDIR") ?? "/tmp",
    });
  } catch (error) {
    throw new Error(
      `cannot fetch the sources in the crate ${crate} ${version}: they come with \`cargo info\` of ` +
        `cargo 1.${LEAST_MINOR} or newer, which has to be on PATH. ${String(error)}`,
      { cause: error },
    );
  }
  const fetched = await keptCrate(crate, version);
  if (fetched) return fetched;
  throw new Error(`cargo info left no file of the crate ${crate} ${version}`);
}

async function keptCrate(crate: string, version: string): Promise<string | undefined> {
  const home = process.env.CARGO_HOME ?? join(homedir(), ".cargo");
  const cache = join(home, "registry", "cache");
  if (!await exists(cache)) return undefined;
  for await (const registry of Deno.readDir(cache)) {
    const file = join(cache, registry.name, `${crate}-${version}.crate`);
    if (await exists(file)) return file;
  }
  return undefined;
}

async function exists(path: string): Promise<boolean> {
  return await Deno.stat(path).then(() => true, () => false);
}
