/** A platform that machine-micro-server is made for. */
export interface MicroTarget {
  /** As in `make micro TARGET=` and in the names in `dist/`. */
  readonly name: string;
  /** Arguments for `zig cc`. */
  readonly compiler: readonly string[];
  /** As clouds name it. */
  readonly platform: string;
}

/** All of them, each with musl and static. */
export const MICRO_TARGETS: readonly MicroTarget[] = [
  {
    name: "linux-x64",
    // Not what the host that compiles happens to have.
    compiler: ["-target", "x86_64-linux-musl", "-mcpu=x86_64"],
    platform: "linux/amd64",
  },
  { name: "linux-arm64", compiler: ["-target", "aarch64-linux-musl"], platform: "linux/arm64" },
  {
    name: "linux-armv7",
    compiler: ["-target", "arm-linux-musleabihf", "-mcpu=generic+v7a+vfp3d16"],
    platform: "linux/arm",
  },
];

/** Finds a target by its name. @throws Error naming all. */
export function microTarget(name: string): MicroTarget {
  const target = MICRO_TARGETS.find((each) => each.name === name);
  if (target) return target;
  const names = MICRO_TARGETS.map((each) => each.name).join(", ");
  throw new Error(`machine-micro-server is made for ${names}, not for ${name}`);
}

/** The target that runs on this host. @throws Error where none does. */
export function ownTarget(): MicroTarget {
  const { os, arch } = Deno.build;
  if (os !== "linux") throw new Error("machine-micro-server is made on Linux");
  return microTarget(arch === "aarch64" ? "linux-arm64" : "linux-x64");
}
