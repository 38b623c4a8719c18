/** The frames of a camera, one after the other. */
import { Buffer } from "node:buffer";
import { releaseBuffer } from "../../../shared/base/memory/release_buffer.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { GetImagesResponse } from "../../../shared/gen/viam/component/camera/v1/camera_pb.ts";
import { driverMethod } from "../../resources/graph/driver.ts";
import type { Resource } from "../../resources/graph/resource.ts";
import { RAW_HEADER_BYTES, RAW_RGBA } from "./encoders.ts";
import { type FrameSize, frameSize } from "./frame_size.ts";

/** A frame that an encoder takes. */
export interface CameraFrame extends FrameSize {
  readonly mimeType: string;
  readonly bytes: Uint8Array;
  /** Nobody else has the bytes: they came as an answer to us, from a module or another machine. */
  readonly isOurs: boolean;
}

/** A frame that cannot be used. */
export class BrokenFrame extends Error {
  override readonly name: string = "BrokenFrame";
}

/** Frames of a kind that is not encoded; they may be whole. */
export class UnfitFrame extends BrokenFrame {
  override readonly name = "UnfitFrame";
}

/** How long a camera may take for a frame. Milliseconds. */
const FRAME_DEADLINE_MS = 5_000;
const MIME_TYPES: readonly string[] = ["image/jpeg", "image/png", RAW_RGBA];
/** Frames a second where the camera reports nothing, and at most. */
const FRAMES_A_SECOND = { usual: 30, least: 1, most: 60 };
const LARGEST_PX = 8_192;

/**
 * The next frame: of several sources the first in a form that can be encoded.
 *
 * @throws {BrokenFrame} when there is none, Error when it takes longer than
 * {@link FRAME_DEADLINE_MS}, and what the camera throws.
 */
export async function nextFrame(
  camera: Resource,
  signal: AbortSignal,
  clock: Clock,
): Promise<CameraFrame> {
  const getImages = driverMethod(camera, "getImages");
  if (!getImages) throw new UnfitFrame("the camera gives no images");
  const request = { name: "", filterSourceNames: [], extra: {} };
  const answer = await withDeadline(
    (signal) => getImages.call(camera, request, { signal }),
    signal,
    clock,
  );
  const { images = [] } = answer as Partial<GetImagesResponse>;
  const image = images.find(({ mimeType }) => MIME_TYPES.includes(mimeType));
  if (!image) {
    if (images.length === 0) throw new BrokenFrame("the camera gives no image");
    const types = images.map(({ mimeType }) => JSON.stringify(mimeType)).join(", ");
    throw new UnfitFrame(`the camera gives ${types}; ${MIME_TYPES.join(", ")} can be encoded`);
  }
  const { mimeType, image: bytes } = image;
  const size = frameSize(bytes, mimeType);
  if (!size || Math.max(size.width, size.height) > LARGEST_PX) {
    throw new BrokenFrame(`the camera gives a frame that is no ${mimeType}, or too large`);
  }
  const raw = mimeType === RAW_RGBA;
  if (raw && bytes.length !== RAW_HEADER_BYTES + size.width * size.height * 4) {
    throw new BrokenFrame("the camera gives a raw frame that is cut short");
  }
  return { mimeType, bytes, ...size, isOurs: camera.forward !== undefined };
}

/** Fields of an answer next to its one large image, which are read already. Bytes. */
const OTHER_FIELDS = 4_096;

/** To be called when a frame is not needed any more; that of a driver here stays the driver's. */
export function releaseFrame({ isOurs, bytes }: CameraFrame): void {
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
    FRAME_DEADLINE_MS,
    () => end(new Error(`the camera gave no frame for ${FRAME_DEADLINE_MS / 1_000} s`)),
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
export async function frameRate(
  camera: Resource,
  signal: AbortSignal,
  clock: Clock,
): Promise<number> {
  const { usual, least, most } = FRAMES_A_SECOND;
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
export function isSameFrame(a: CameraFrame | undefined, b: CameraFrame): boolean {
  return a !== undefined && (a.bytes === b.bytes || Buffer.compare(a.bytes, b.bytes) === 0);
}
