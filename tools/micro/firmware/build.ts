import { dirname, join } from "node:path";
import { type BuildOptions, type Built, linuxObjects, lockBuilds } from "../build.ts";
import { fetchAll, Objects } from "../objects.ts";
import { FIRMWARE_RECIPES, LINUX_RECIPES } from "../recipes.ts";
import { run } from "../run.ts";
import { ownTarget } from "../targets.ts";
import type { Toolchain } from "../toolchain.ts";

/** The board that firmware is made for, as QEMU names it. */
export const BOARD = "mps2-an385";

const COMPILER = "arm-none-eabi-gcc";
const CPU = ["-mcpu=cortex-m3", "-mthumb"];
const HOST = "micro/hosts/cortex_m";

/** Bounds of a device with less memory than a computer. */
const BOUNDS = [
  ..."-DFLASH_LARGEST=131072 -DMOST_CONNECTIONS=16 -DMOST_ACCEPTED=10".split(" "),
  "-Wno-format-truncation",
  ..."-DKEPT_MOST=262144 -DLOOP_MOST_FDS=32 -DENGINE_STACK=65536 -DENGINE_GARBAGE=16384".split(" "),
  ..."-D_POSIX_TIMERS=1 -D_POSIX_MONOTONIC_CLOCK=1".split(" "),
];

const LOADER = ["board/board.c", "board/semihosting.c", "board/startup.c"]
  .concat("chip.c", "loader.c", "slots.c", "../device/crc.c");

/** Files of a firmware. */
export interface BuiltFirmware extends Built {
  /** The image, as updates have it. */
  readonly image: string;
  /** What QEMU starts; it starts the image in flash. */
  readonly loader: string;
}

/**
 * Makes the firmware of machine-micro-server for {@link BOARD}: `dist/machine-micro-server-BOARD.bin`
 * and the loader next to it.
 *
 * @throws Error with what is missing or what the compiler said.
 */
export async function buildFirmware(options: BuildOptions): Promise<BuiltFirmware> {
  using _lock = await lockBuilds(options.root);
  const { root } = options;
  const toolchain = await gccToolchain();
  const sources = await fetchAll(FIRMWARE_RECIPES, root);
  const image = options.output ?? join(root, "dist", `machine-micro-server-${BOARD}.bin`);
  const base = image.replace(/\.bin$/, "");
  const home = join(root, ".tools", "micro", BOARD);
  const work = join(home, `host-${base.split("/").at(-1)}`);
  await Deno.mkdir(join(work, "loader"), { recursive: true });
  await Deno.mkdir(dirname(image), { recursive: true });
  const own = await linuxObjects(ownTarget(), options, await fetchAll(LINUX_RECIPES, root));
  const bytecode = await own.bytecode(work, options.entry, { lean: true });
  const build = new Objects({
    ...{ root, sources, toolchain, folder: home, recipes: FIRMWARE_RECIPES, host: "cortex_m" },
    shared: ["device"],
    folders: ["", "board", "lwip"],
    mbedtls: "mbedtls_board.h",
    flags: BOUNDS,
    settings: [
      "micro/hosts/native/mbedtls_user.h",
      ...["mbedtls_board.h", "lwip/lwipopts.h", "lwip/arch/cc.h"].map((file) => join(HOST, file)),
    ],
  });
  const parts = [
    ...await build.libraries(),
    await build.host(work, { ...options, skip: ["loader.c"] }),
  ];
  const withSymbols = `${base}.elf`;
  await build.link(withSymbols, parts.flatMap((part) => part.objects), [
    ...linkFlags(join(root, HOST, "board/image.ld")),
    "-lm",
  ]);
  const loader = join(dirname(image), `machine-micro-loader-${BOARD}.elf`);
  const loaderFiles = LOADER.map((file) => join(root, HOST, file));
  const loaderObjects = await build.own(loaderFiles, join(work, "loader"), [
    "-fno-stack-protector",
  ]);
  await build.link(loader, loaderObjects, linkFlags(join(root, HOST, "board/loader.ld")));
  await run("arm-none-eabi-objcopy", ["-O", "binary", withSymbols, `${image}.new`]);
  await Deno.rename(`${image}.new`, image);
  return {
    ...{ file: image, image, loader, parts, bytecode },
    withSymbols: () => Promise.resolve(withSymbols),
  };
}

function linkFlags(script: string): string[] {
  return ["-nostartfiles", `-Wl,-T,${script}`];
}

async function gccToolchain(): Promise<Toolchain> {
  const version = await run(COMPILER, ["-dumpfullversion"]).catch((error: unknown) => {
    throw new Error(
      `firmware is made with ${COMPILER} and newlib (Debian: apt-get install ` +
        `gcc-arm-none-eabi libnewlib-arm-none-eabi). ${String(error)}`,
    );
  });
  return {
    settings: JSON.stringify([COMPILER, version, CPU]),
    compile: async (args) => {
      await run(COMPILER, [...CPU, ...args]);
    },
  };
}
