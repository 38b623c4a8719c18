import { join } from "node:path";
import { Code, ConnectError } from "@connectrpc/connect";
import { toFileError } from "../../../shared/base/files/fs_error.ts";
import type { CameraService } from "../../../shared/gen/viam/component/camera/v1/camera_pb.ts";
import type { Driver } from "../../resources/graph/driver.ts";
import { ImageError } from "./image_header.ts";
import { MAX_IMAGE_BYTES, type Still, stillCamera } from "./still_camera.ts";
import type { FolderOrder, ImageFileAttributes } from "./image_file_attributes.ts";

/** A folder with more images is a mistake, and would be listed for each of them. */
const MAX_IMAGES = 10_000;
const IMAGE_NAME = /\.(jpe?g|png)$/i;

/**
 * A camera over files. They are looked at once here, so that a wrong path shows in the status.
 *
 * @throws {FileError} when a path cannot be read.
 */
export async function createImageFileCamera(
  attributes: ImageFileAttributes,
): Promise<Driver<typeof CameraService>> {
  const { color_image_file_path: color, pointcloud_file_path: points, folder_order } = attributes;
  if (points !== undefined) await stat(points);
  const isFolder = color !== undefined && (await stat(color)).isDirectory;
  const source = isFolder ? folderSource(color, folder_order ?? "cycle") : fileSource(color);
  return stillCamera({
    sourceName: "color",
    ...source,
    pointCloud: points === undefined ? undefined : async (signal) => {
      const { bytes } = await readStill(points, signal);
      if (!isPcd(bytes)) throw new ImageError(`${points} is no PCD file: it has no PCD header`);
      return bytes;
    },
  });
}

interface Source {
  readonly take: (signal: AbortSignal) => Promise<Still>;
  readonly look?: (signal: AbortSignal) => Promise<Still>;
}

function fileSource(path: string | undefined): Source {
  if (path !== undefined) return { take: (signal) => readStill(path, signal) };
  const none = new ConnectError("this camera has a point cloud only", Code.Unimplemented);
  return { take: () => Promise.reject(none) };
}

/** The files are listed for each image: they come and go. */
function folderSource(folder: string, order: FolderOrder): Source {
  let last: string | undefined;
  const pick = async () => {
    const names = await imageNames(folder);
    return order === "cycle" ? after(names, last) : await newest(folder, names);
  };
  return {
    async take(signal) {
      last = await pick();
      return await readStill(join(folder, last), signal);
    },
    look: async (signal) => await readStill(join(folder, await pick()), signal),
  };
}

function after(names: readonly string[], last: string | undefined): string {
  const next = last === undefined ? undefined : names.find((name) => name > last);
  return next ?? names[0]!;
}

async function newest(folder: string, names: readonly string[]): Promise<string> {
  let found = names[0]!;
  let foundMs = -Infinity;
  for (const name of names) {
    const writtenMs = (await Deno.stat(join(folder, name)).catch(() => undefined)) // gone meanwhile
      ?.mtime?.getTime() ?? -Infinity;
    if (writtenMs < foundMs) continue;
    found = name;
    foundMs = writtenMs;
  }
  return found;
}

/** Sorted, at least one. */
async function imageNames(folder: string): Promise<string[]> {
  const names: string[] = [];
  try {
    for await (const { name, isDirectory } of Deno.readDir(folder)) {
      if (isDirectory || name.startsWith(".") || !IMAGE_NAME.test(name)) continue;
      if (names.push(name) > MAX_IMAGES) {
        throw new ImageError(`${folder} has more than ${MAX_IMAGES} images; name another folder`);
      }
    }
  } catch (error) {
    throw error instanceof ImageError ? error : toFileError(error, "list", folder);
  }
  if (names.length === 0) {
    throw new ImageError(`${folder} has no image: no file that ends in .jpg, .jpeg or .png`);
  }
  return names.sort();
}

async function readStill(path: string, signal: AbortSignal): Promise<Still> {
  const { size, mtime } = await stat(path);
  if (size > MAX_IMAGE_BYTES) {
    throw new ImageError(`${path} has ${size} bytes; at most ${MAX_IMAGE_BYTES} can be sent`);
  }
  signal.throwIfAborted();
  try {
    const bytes = await Deno.readFile(path, { signal });
    return { bytes, takenAt: mtime ?? new Date(0), origin: path };
  } catch (error) {
    signal.throwIfAborted();
    throw toFileError(error, "read", path);
  }
}

/** A device or a pipe may have no end, and is no image. */
async function stat(path: string): Promise<Deno.FileInfo> {
  let info: Deno.FileInfo;
  try {
    info = await Deno.stat(path);
  } catch (error) {
    throw toFileError(error, "read", path);
  }
  if (info.isFile || info.isDirectory) return info;
  throw new ImageError(`${path} is neither a file nor a folder; devices and pipes are not read`);
}

/** Comments, then the VERSION line (PCD file format, version 0.7). */
function isPcd(bytes: Uint8Array): boolean {
  const start = new TextDecoder().decode(bytes.subarray(0, 1_024));
  return /^(#[^\n]*\n|\s*\n)*VERSION\s/.test(start);
}
