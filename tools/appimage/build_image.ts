/** Packs machine-server into one file that runs on its own and installs itself. */
import { dirname, join } from "node:path";
import { runProgram } from "../../shared/base/process/run_program.ts";
import { isThere } from "../../shared/test_tools/tools.ts";
import { imageRuntime, joinImage } from "./elf_image.ts";

export interface ImageOptions {
  readonly version: string;
  /** `linux/amd64` */
  readonly platform: string;
  /** The compiled machine-server. */
  readonly binary: string;
  /** Public key of minisign, as its file. */
  readonly releaseKey: string;
  /** Of all files in it, so that two builds are the same. */
  readonly time: Date;
  /** These sources. */
  readonly root: string;
}

const BUILD_LIMIT_MS = 20 * 60_000;

const NO_PACKER = "an application image needs mksquashfs; install squashfs-tools";

const DESKTOP = `[Desktop Entry]
Type=Application
Name=machine-server
Comment=Runs one machine's resources
Exec=machine-server
Icon=machine-server
Terminal=true
Categories=Utility;
`;

/** @throws {Error} where what packs images is not installed, before minutes went into a build */
export function requirePacker(): void {
  if (!isThere({ finds: ["mksquashfs"], packages: [] })) throw new Error(NO_PACKER);
}

/**
 * Makes an application image (AppImage of type 2).
 *
 * @param file where it goes
 * @throws {Error} when mksquashfs or Go cannot be had
 */
export async function buildImage(file: string, options: ImageOptions): Promise<void> {
  const { root, platform, version } = options;
  await Deno.mkdir(dirname(file), { recursive: true });
  const work = await Deno.makeTempDir({ dir: dirname(file), prefix: ".image-" });
  try {
    const runtime = join(work, "runtime");
    await buildRuntime(runtime, { root, platform, version });
    const content = join(work, "content");
    await layOut(content, options);
    const packed = join(work, "content.squashfs");
    await pack(content, packed, options.time);
    const made = joinImage(imageRuntime(await Deno.readFile(runtime)), await Deno.readFile(packed));
    await Deno.writeFile(join(work, "image"), made, { mode: 0o755 });
    await Deno.rename(join(work, "image"), file);
  } finally {
    await Deno.remove(work, { recursive: true });
  }
}

/** The pinned Go always: another one makes other bytes. */
async function buildRuntime(
  file: string,
  { root, platform, version }: Pick<ImageOptions, "root" | "platform" | "version">,
): Promise<void> {
  const go = (await must("sh", [join(root, "tools", "go.sh"), "--pinned"])).trim();
  const architecture = platform.split("/")[1] ?? "";
  await must("env", [
    ...["CGO_ENABLED=0", "GOOS=linux", `GOARCH=${architecture}`, "GOFLAGS=-mod=readonly"],
    ...["GOTOOLCHAIN=local", "GOAMD64=v1", "GOARM64=v8.0", "GOWORK=off"],
    ...[go, "-C", join(root, "tools", "appimage", "runtime"), "build"],
    ...["-trimpath", "-buildvcs=false"],
    ...["-ldflags", `-s -w -buildid= -X main.version=${version}`, "-o", file, "."],
  ]);
}

async function layOut(
  content: string,
  { version, platform, binary, releaseKey, root }: ImageOptions,
): Promise<void> {
  const at = (path: string) => join(content, path);
  for (const folder of ["usr/bin", "usr/share/machine-server", "usr/share/doc/machine-server"]) {
    await Deno.mkdir(at(folder), { recursive: true });
  }
  await Deno.copyFile(binary, at("usr/bin/machine-server"));
  await Deno.chmod(at("usr/bin/machine-server"), 0o755);
  await Deno.symlink("usr/bin/machine-server", at("AppRun"));
  const label = `${JSON.stringify({ version, platform })}\n`;
  const files: Readonly<Record<string, string>> = {
    "machine-server.desktop": DESKTOP,
    "machine-server.svg": await Deno.readTextFile(join(root, "console", "public", "favicon.svg")),
    "usr/share/machine-server/image.json": label,
    "usr/share/machine-server/release-key.pub": releaseKey,
    "usr/share/doc/machine-server/copyright": await Deno.readTextFile(join(root, "LICENSE")),
  };
  for (const [path, text] of Object.entries(files)) {
    await Deno.writeTextFile(at(path), text);
    await Deno.chmod(at(path), 0o644); // Whatever the umask is.
  }
  await Deno.symlink("machine-server.svg", at(".DirIcon"));
  for (const folder of ["", "usr", "usr/bin", "usr/share", "usr/share/doc"]) {
    await Deno.chmod(at(folder), 0o755);
  }
}

async function pack(folder: string, file: string, time: Date): Promise<void> {
  const seconds = String(Math.floor(time.getTime() / 1_000));
  await must("env", [
    ...["-u", "SOURCE_DATE_EPOCH", "mksquashfs", folder, file, "-noappend", "-no-progress"],
    ...["-quiet", "-root-owned", "-no-xattrs", "-mkfs-time", seconds, "-all-time", seconds],
    ...["-comp", "zstd", "-Xcompression-level", "9", "-b", "256K"],
  ]);
}

async function must(program: string, args: string[]): Promise<string> {
  const { code, stdout, stderr } = await runProgram(program, args, BUILD_LIMIT_MS);
  if (code === 0) return stdout;
  if (code === 127 && args.includes("mksquashfs")) {
    throw new Error(NO_PACKER);
  }
  throw new Error(`${program} ${args.join(" ")} failed: ${stderr.trim()}`);
}
