import { dirname, join } from "node:path";
import process from "node:process";
import { type BuildOptions, linuxObjects, lockBuilds } from "../build.ts";
import { fetchAll } from "../objects.ts";
import { FIRMWARE_RECIPES, LINUX_RECIPES } from "../recipes.ts";
import { run } from "../run.ts";
import { LIBRARIES, type Library } from "../sources.ts";
import { ownTarget } from "../targets.ts";

/** The chip that firmware is made for, as ESP-IDF names it. */
export const CHIP = "esp32s3";

/** Where `partitions.csv` of the project has the values of flash. */
export const VALUES_AT = 0x620000;

const PROJECT = "micro/hosts/esp32";

/** Bounds of the device: of 16 sockets one is the port's, and one is for the next caller. */
const BOUNDS = [
  ..."-DFLASH_LARGEST=131072 -DMOST_CONNECTIONS=14 -DMOST_ACCEPTED=9".split(" "),
  ..."-DKEPT_MOST=262144 -DLOOP_MOST_FDS=32 -DENGINE_STACK=65536 -DENGINE_GARBAGE=16384".split(" "),
  ..."-Wno-format-truncation -Wno-missing-field-initializers".split(" "),
];

/** What compiles the host's own sources, and what the engine's. */
export interface Esp32Flags {
  readonly own: readonly string[];
  readonly engine: readonly string[];
}

/** @param version of the program */
export function esp32Flags({ version, commit }: { version: string; commit: string }): Esp32Flags {
  return {
    own: [...BOUNDS, `-DMICRO_VERSION="${version}"`, `-DMICRO_COMMIT="${commit}"`],
    engine: FIRMWARE_RECIPES.find(({ library }) => library === LIBRARIES.quickjs)?.flags ?? [],
  };
}

/** Files of a firmware. */
export interface BuiltEsp32 {
  /** The image, as updates have it. */
  readonly image: string;
  /** The kit's folder, from which it writes the chip. */
  readonly build: string;
}

/** Why the kit cannot be used here. Undefined when it can. */
export async function noKitBecause(): Promise<string | undefined> {
  const install =
    "Install ESP-IDF 5.3 to 5.5 as its vendor says (git clone of espressif/esp-idf with " +
    "its submodules, then ./install.sh esp32s3), and run `. $IDF_PATH/export.sh` in this shell";
  if (!process.env.IDF_PATH) return `there is no ESP-IDF here: IDF_PATH is not set. ${install}.`;
  const said = await run("idf.py", ["--version"]).catch(() => undefined);
  if (said === undefined) return `IDF_PATH is set, but idf.py does not run. ${install}.`;
  const [, major, minor] = said.match(/v?(\d+)\.(\d+)/) ?? [];
  if (major === "5" && Number(minor) >= 3) return undefined;
  return `this is ${said.trim()}, whose Mbed TLS or drivers are others. ${install}.`;
}

/**
 * Makes the firmware for {@link CHIP} with ESP-IDF: `dist/machine-micro-server-CHIP.bin`. What the kit
 * says goes to standard output.
 *
 * @throws Error with what is missing, or that the kit failed
 */
export async function buildEsp32(options: BuildOptions): Promise<BuiltEsp32> {
  const missing = await noKitBecause();
  if (missing !== undefined) throw new Error(missing);
  using _lock = await lockBuilds(options.root);
  const { root } = options;
  const image = options.output ?? join(root, "dist", `machine-micro-server-${CHIP}.bin`);
  const home = join(root, ".tools", "micro", CHIP);
  const generated = join(home, "generated");
  const build = join(home, "build");
  await Deno.mkdir(generated, { recursive: true });
  await Deno.mkdir(dirname(image), { recursive: true });
  const sources = await fetchAll(LINUX_RECIPES, root);
  await (await linuxObjects(ownTarget(), options, sources))
    .bytecode(generated, options.entry, { lean: true });
  const from = (library: Library): string => sources.get(library) ?? "";
  const { own, engine } = esp32Flags(options);
  await runKit(
    root,
    ["-B", build, "-D", `SDKCONFIG=${join(home, "sdkconfig")}`].concat(
      ...["-D", `IDF_TARGET=${CHIP}`, "build"],
    ),
    {
      MICRO_VERSION: options.version,
      MICRO_GENERATED: generated,
      MICRO_QUICKJS: from(LIBRARIES.quickjs),
      MICRO_QUICKJS_FLAGS: engine.join(" "),
      MICRO_MONOCYPHER: from(LIBRARIES.monocypher),
      // The kit splits it as a shell does.
      MICRO_FLAGS: own.map((flag) => `'${flag}'`).join(" "),
    },
  );
  await Deno.copyFile(join(build, "machine-micro-server.bin"), `${image}.new`);
  await Deno.rename(`${image}.new`, image);
  return { image, build };
}

async function runKit(
  root: string,
  args: readonly string[],
  env: Record<string, string>,
): Promise<void> {
  const { success } = await new Deno.Command("idf.py", {
    args: ["-C", join(root, PROJECT), ...args],
    env,
    stdin: "null",
    stdout: "inherit",
    stderr: "inherit",
  }).spawn().status;
  if (!success) throw new Error("ESP-IDF could not make it; what it said is above");
}
