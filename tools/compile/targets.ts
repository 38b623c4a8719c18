import type { AddonPlatform } from "../bundle/bundle.ts";

/** A platform we ship binaries for. */
export interface Target {
  /** As in `make server TARGET=` and in the names in `dist/`. */
  readonly name: "linux-x64" | "linux-arm64" | "windows-x64" | "darwin-arm64" | "darwin-x64";
  /** As Deno names it. */
  readonly triple: string;
  /** As clouds and machines name it, `linux/amd64`. */
  readonly platform: string;
  readonly addon: AddonPlatform;
  readonly format: "elf" | "pe" | "macho";
  readonly extension: "" | ".exe";
  /** npm package with a deno-compiled program, from which the runtime can be cut. */
  readonly carrier: { readonly package: string; readonly version: string; readonly file: string };
}

export const TARGETS: readonly Target[] = [
  {
    name: "linux-x64",
    triple: "x86_64-unknown-linux-gnu",
    platform: "linux/amd64",
    addon: "linux-x64",
    format: "elf",
    extension: "",
    carrier: { package: "@stdy/cli-linux-x64", version: "0.22.2", file: "bin/steady" },
  },
  {
    name: "linux-arm64",
    triple: "aarch64-unknown-linux-gnu",
    platform: "linux/arm64",
    addon: "linux-arm64",
    format: "elf",
    extension: "",
    carrier: { package: "@stdy/cli-linux-arm64", version: "0.22.2", file: "bin/steady" },
  },
  {
    name: "windows-x64",
    triple: "x86_64-pc-windows-msvc",
    platform: "windows/amd64",
    addon: "win32-x64",
    format: "pe",
    extension: ".exe",
    carrier: { package: "@stdy/cli-win32-x64", version: "0.22.2", file: "bin/steady.exe" },
  },
  {
    name: "darwin-arm64",
    triple: "aarch64-apple-darwin",
    platform: "darwin/arm64",
    addon: "darwin-arm64",
    format: "macho",
    extension: "",
    carrier: { package: "@stdy/cli-darwin-arm64", version: "0.22.2", file: "bin/steady" },
  },
  {
    name: "darwin-x64",
    triple: "x86_64-apple-darwin",
    platform: "darwin/amd64",
    addon: "darwin-x64",
    format: "macho",
    extension: "",
    carrier: { package: "@stdy/cli-darwin-x64", version: "0.22.2", file: "bin/steady" },
  },
];

/** Finds a target by name. @throws Error listing what is allowed. */
export function targetByName(name: string): Target {
  const target = TARGETS.find((t) => t.name === name);
  if (target) return target;
  throw new Error(`there is no target "${name}"; allowed are ${TARGETS.map((t) => t.name)}`);
}

/** The target that runs on this machine. @throws Error on a platform we ship nothing for. */
export function hostTarget(host: { os: string; arch: string } = Deno.build): Target {
  return targetByName(`${host.os}-${host.arch === "aarch64" ? "arm64" : "x64"}`);
}
