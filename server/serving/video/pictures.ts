/** The frames of a camera, one after the other. */
import { Buffer } from "node:buffer";
import { releaseBuffer } from "../../../shared/base/memory/release_buffer.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { GetImagesResponse } from "../../../shared/gen/viam/component/camera/v1/camera_pb.ts";
import { driverMethod } from "../../resources/graph/driver.ts";
import type { Resource } from "../../resources/graph/resource.ts";
import { RAW_HEADER_BYTES, RAW_RGBA } from "./encoders.ts";
import { type PictureSize, pictureSize } from "./picture_size.ts";

/** A frame that an encoder takes. */
export interface Picture extends PictureSize {
  readonly mimeType: string;
  readonly bytes: Uint8Array;
  /** Nobody else has the bytes: they came as an answer to us, from a module or another machine. */
  readonly isOurs: boolean;
}

/** A frame that cannot be used. */
export class BrokenPicture extends Error {
  override readonly name: string = "BrokenPicture";
}

/** Frames of a kind that is not encoded; they may be whole. */
export class UnfitPicture extends BrokenPicture {
  override readonly name = "UnfitPicture";
}

/** How long a camera may take for a frame. Milliseconds. */
const PICTURE_DEADLINE_MS = 5_000;
const MIME_TYPES: readonly string[] = ["image/jpeg", "image/png", RAW_RGBA];
/** Frames a second where the camera reports nothing, and at most. */
const PICTURES_A_SECOND = { usual: 30, least: 1, most: 60 };
const LARGEST_PX = 8_192;

/**
 * The next frame: of several sources the first in a form that can be encoded.
 *
 * @throws {BrokenPicture} when there is none, Error when it takes longer than
 * {@link PICTURE_DEADLINE_MS}, and what the camera throws.
 */
export async function nextPicture(
  camera: Resource,
  signal: AbortSignal,
  clock: Clock,
): Promise<Picture> {
  const getImages = driverMethod(camera, "getImages");
  if (!getImages) throw new UnfitPicture("the camera gives no images");
  const request = { name: "", filterSourceNames: [], extra: {} };
  const answer = await withDeadline(
    (signal) => getImages.call(camera, request, { signal }),
    signal,
    clock,
  );
  const { images = [] } = answer as Partial<GetImagesResponse>;
  const image = images.find(({ mimeType }) => MIME_TYPES.includes(mimeType));
  if (!image) {
    if (images.length === 0) throw new BrokenPicture("the camera gives no image");
    const types = images.map(({ mimeType }) => JSON.stringify(mimeType)).join(", ");
    throw new UnfitPicture(`the camera gives ${types}; ${MIME_TYPES.join(", ")} can be encoded`);
  }
  const { mimeType, image: bytes } = image;
  const size = pictureSize(bytes, mimeType);
  if (!size || Math.max(size.width, size.height) > LARGEST_PX) {
    throw new BrokenPicture(`the camera gives a frame that is no ${mimeType}, or too large`);
  }
  const raw = mimeType === RAW_RGBA;
  if (raw && bytes.length !== RAW_HEADER_BYTES + size.width * size.height * 4) {
    throw new BrokenPicture("the camera gives a raw frame that is cut short");
  }
  return { mimeType, bytes, ...size, isOurs: camera.forward !== undefined };
}

/** Fields of an answer next to its one large image, which are read already. Bytes. */
const OTHER_FIELDS = 4_096;

/** To be called when a frame is not needed any more; that of a driver here stays the driver's. */
export function releasePicture({ isOurs, bytes }: Picture): void {
  if (isOurs) releaseBuffer(bytes, OTHER_FIELDS);
}

/** A driver that ignores its signal holds nobody up. */
async function withDeadline<T>(
  work: (signal: AbortSignal) => T | Promise<T>,
  signal: AbortSignal,
  clock: Clock,
): Promise<T> {
  const ended = new AbortController();
  const { promise, reject } = Promise.withResolvers<never>();
  promise.catch(() => {});
  const end = (reason: unknown) => {
    ended.abort(reason);
    reject(reason);
  };
  const left = () => end(signal.reason);
  const timer = clock.setTimer(
    PICTURE_DEADLINE_MS,
    () => end(new Error(`the camera gave no frame for ${PICTURE_DEADLINE_MS / 1_000} s`)),
  );
  signal.addEventListener("abort", left, { once: true });
  try {
    signal.throwIfAborted();
    return await Promise.race([work(ended.signal), promise]);
  } finally {
    timer.cancel();
    signal.removeEventListener("abort", left);
  }
}

/** Frames a second that the camera says it takes. */
export async function pictureRate(
  camera: Resource,
  signal: AbortSignal,
  clock: Clock,
): Promise<number> {
  const { usual, least, most } = PICTURES_A_SECOND;
  try {
    const getProperties = driverMethod(camera, "getProperties");
    const properties = await withDeadline(
      (signal) => getProperties?.call(camera, { name: "" }, { signal }),
      signal,
      clock,
    ) as { frameRate?: number } | undefined;
    const rate = properties?.frameRate ?? 0;
    return rate > 0 ? Math.min(most, Math.max(least, rate)) : usual;
  } catch {
    return usual;
  }
}

/** Whether two frames are the same one. */
export function isSamePicture(a: Picture | undefined, b: Picture): boolean {
  return a !== undefined && (a.bytes === b.bytes || Buffer.compare(a.bytes, b.bytes) === 0);
}
