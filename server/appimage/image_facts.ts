/** What a machine-server knows when it was started from an application image. */
import { dirname, join } from "node:path";
import { toFileError } from "../../shared/base/files/fs_error.ts";
import type { RunProgram } from "../../shared/base/process/run_program.ts";

/** A request that cannot be fulfilled; the message says why and what to do, in one line. */
export class AppImageError extends Error {
  override readonly name = "AppImageError";
}

/** Written into the image when it is made. */
export interface ImageLabel {
  readonly version: string;
  /** `linux/amd64` */
  readonly platform: string;
  /** Public key of minisign whose signatures updates need. */
  readonly releaseKey: string;
}

/** The image that runs. */
export interface RunningImage {
  /** The image's file. */
  readonly path: string;
  readonly label: ImageLabel;
}

/** What the commands need of the host. */
export interface ImageHost {
  /** Root of the file system: `/`, but in tests. */
  readonly root: string;
  readonly uid: number | null;
  readonly run: RunProgram;
  /** Gets one line for each thing done. */
  readonly say: (line: string) => void;
}

/** Folder of the label and the key below the image's content. */
const SHARE = join("usr", "share", "machine-server");

/** @throws {AppImageError} when this program was not started from an image. */
export async function runningImage(
  variable: (name: string) => string | undefined,
): Promise<RunningImage> {
  const [path, content] = [variable("APPIMAGE"), variable("APPDIR")];
  if (!path || !content) {
    throw new AppImageError(
      "this machine-server is no application image; --aix-install, --aix-update and " +
        "--aix-uninstall are for the file machine-server-VERSION-ARCHITECTURE.AppImage",
    );
  }
  const folder = join(content, SHARE);
  try {
    const { version, platform } = JSON.parse(await Deno.readTextFile(join(folder, "image.json")));
    const releaseKey = await Deno.readTextFile(join(folder, "release-key.pub"));
    return { path, label: { version: String(version), platform: String(platform), releaseKey } };
  } catch (error) {
    throw toFileError(error, "read the image's label", folder);
  }
}

/** @throws {AppImageError} for others than root */
export function requireRoot({ uid }: ImageHost, command: string): void {
  if (uid === 0) return;
  throw new AppImageError(`${command} must be run as root; start it with sudo`);
}

/**
 * Puts an image in the place of another one, or of none: whole, on the disk, and only after it
 * ran. Nothing is left of it when that fails.
 *
 * @param fill writes the image to a path
 * @throws {AppImageError} when the image does not run there; what `fill` throws
 */
export async function placeImage(
  target: string,
  fill: (path: string) => Promise<void>,
  run: RunProgram,
): Promise<void> {
  const fresh = join(dirname(target), `.machine-server-${crypto.randomUUID()}.new`);
  try {
    await fill(fresh);
    await Deno.chmod(fresh, 0o755);
    {
      using file = await Deno.open(fresh);
      await file.sync();
    }
    const { code, stderr } = await run(fresh, ["-version"]);
    if (code !== 0) {
      const why = stderr.trim().split("\n").at(-1) || `it ended with ${code}`;
      const blocked = /permission denied/i.test(why)
        ? `programs may not run in ${dirname(target)} (is it mounted with noexec?)`
        : why;
      throw new AppImageError(`the image does not run here, so nothing was changed: ${blocked}`);
    }
    await Deno.rename(fresh, target);
    using folder = await Deno.open(dirname(target));
    await folder.sync();
  } catch (error) {
    await Deno.remove(fresh).catch(() => undefined); // It was never made, or renamed.
    throw error instanceof AppImageError ? error : toFileError(error, "write", target);
  }
}
