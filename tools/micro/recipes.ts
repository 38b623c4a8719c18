import { LIBRARIES, type Library } from "./sources.ts";

/** What is compiled of a library, and how. */
export interface Recipe {
  readonly library: Library;
  /** Relative to the sources; `*.c` stands for all of a folder. */
  readonly files: readonly string[];
  readonly include: readonly string[];
  readonly flags: readonly string[];
}

/** For everything. */
export const COMMON = [
  ..."-std=gnu11 -ffunction-sections -fdata-sections -fno-sanitize=undefined -fno-ident".split(" "),
  "-fstack-protector-strong",
];

/** The engine. */
export const QUICKJS: Recipe = {
  library: LIBRARIES.quickjs,
  files: ["quickjs.c", "libregexp.c", "libunicode.c", "dtoa.c"],
  include: ["."],
  // For speed; the others for size.
  flags: ["-O2", "-D_GNU_SOURCE", "-funsigned-char", "-w"],
};

const MBEDTLS: Recipe = {
  library: LIBRARIES.mbedtls,
  files: ["library/*.c"],
  include: ["include", "library"],
  flags: ["-Os"],
};

const MONOCYPHER: Recipe = {
  library: LIBRARIES.monocypher,
  files: ["monocypher.c", "optional/monocypher-ed25519.c"],
  include: [".", "optional"],
  flags: ["-Os"],
};

/** Libraries of a program for Linux. */
export const LINUX_RECIPES: readonly Recipe[] = [QUICKJS, MBEDTLS, MONOCYPHER];

/** Libraries of a firmware: the same and a network stack. */
export const FIRMWARE_RECIPES: readonly Recipe[] = [
  {
    ...QUICKJS,
    // As a system without threads, of which the engine knows this one; newlib has the clocks. Its
    // int32_t is a long, which the engine reads as an int.
    flags: [
      "-fno-strict-aliasing",
      ..."-Os -D_GNU_SOURCE -funsigned-char -w -D__wasi__".split(" "),
      ..."-D_POSIX_TIMERS=1 -D_POSIX_MONOTONIC_CLOCK=1".split(" "),
      ..."-DQJS_DISABLE_PARSER -DJS_ARENA_SIZE=1024".split(" "),
    ],
  },
  MBEDTLS,
  MONOCYPHER,
  {
    library: LIBRARIES.lwip,
    files: ["core/*.c", "core/ipv4/*.c", "netif/ethernet.c"],
    include: ["include"],
    flags: ["-Os"],
  },
];

/** For the host's own sources. */
export const OWN_FLAGS = [
  ..."-Os -D_GNU_SOURCE -Wall -Wextra -Werror -Wno-unused-parameter -Wno-sign-compare".split(" "),
  "-Wno-missing-field-initializers",
];
