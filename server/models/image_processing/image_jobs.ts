/** What the process of images does with them. */
import type { Frame } from "../../../shared/base/process/frames.ts";
import { type ImageNumbers, imageTensor } from "../../../shared/inference/image_tensor.ts";
import { decodeAnyImage } from "../../../shared/image/any_image.ts";
import { encodeJpeg } from "../../../shared/image/encode.ts";
import { type ColourArea, colourAreas, type ColourSought } from "./colour_areas.ts";
import { changedImage, type ImageStep } from "./image_steps.ts";
import { readPcd, writePcd } from "./point_cloud_text.ts";
import { colouredDepth, readDepth } from "./depth_image.ts";
import { drawRoom, type RoomScene } from "./room_drawing.ts";
import {
  type Bounds,
  boundsOf,
  type Box,
  type Lens,
  pointsInBox,
  withoutOutliers,
} from "./segments.ts";

/** One part: the image, or the cloud of points. */
export type ImageJob =
  | {
    readonly kind: "tensor";
    /** -1 stands for the size of the image. */
    readonly shape: readonly number[];
    readonly type: string;
    readonly numbers: ImageNumbers;
  }
  | { readonly kind: "colours"; readonly sought: ColourSought }
  | {
    readonly kind: "segments";
    readonly lens: Lens;
    readonly boxes: readonly Box[];
    readonly deviations: number;
  }
  /** Parts: the image, an image of depth, or both. */
  | { readonly kind: "steps"; readonly steps: readonly ImageStep[] }
  /** Its part is empty. */
  | { readonly kind: "room"; readonly scene: RoomScene };

/** Width and height are those of the image; the part holds the tensor's numbers. */
export interface TensorResult {
  readonly width: number;
  readonly height: number;
  readonly shape: readonly number[];
}

export interface ColoursResult {
  readonly width: number;
  readonly height: number;
  readonly areas: readonly ColourArea[];
}

/** One for each box, null for those without points; each other has a part, a cloud as PCD. */
export interface SegmentsResult {
  readonly bounds: readonly (Bounds | null)[];
}

/** Does one job. @throws {ImageError} {@link PointCloudError} {@link InferenceRefusedError} */
export async function runImageJob(
  { head: job, parts }: Frame<ImageJob>,
): Promise<Frame<object>> {
  const [bytes = new Uint8Array()] = parts;
  switch (job.kind) {
    case "tensor": {
      const image = await decodeAnyImage(bytes);
      const shape = sized(job.shape, image);
      const values = imageTensor(image, shape, job.type, job.numbers);
      const { width, height } = image;
      const head: TensorResult = { width, height, shape };
      return { head, parts: [new Uint8Array(values.buffer)] };
    }
    case "colours": {
      const image = await decodeAnyImage(bytes);
      const { width, height } = image;
      const head: ColoursResult = { width, height, areas: colourAreas(image, job.sought) };
      return { head, parts: [] };
    }
    case "segments": {
      const cloud = readPcd(bytes);
      const found = job.boxes.map((box) =>
        withoutOutliers(pointsInBox(cloud, job.lens, box), job.deviations)
      );
      const bounds = found.map((each) => boundsOf(each) ?? null);
      const head: SegmentsResult = { bounds };
      return { head, parts: found.filter(({ points }) => points.length > 0).map(writePcd) };
    }
    case "steps": {
      const isDepth = job.steps[0]?.kind === "colour_depth";
      const depth = isDepth ? readDepth(bytes) : parts[1] && readDepth(parts[1]);
      const image = isDepth ? colouredDepth(depth!) : await decodeAnyImage(bytes);
      return { head: {}, parts: [await encodeJpeg(changedImage(image, depth, job.steps))] };
    }
    case "room":
      return { head: {}, parts: [await encodeJpeg(drawRoom(job.scene))] };
  }
}

/** A model that takes any size takes that of the image. */
function sized(
  shape: readonly number[],
  { width, height }: { readonly width: number; readonly height: number },
): number[] {
  const channelsFirst = shape[1] === 3;
  const own = channelsFirst ? [1, 3, height, width] : [1, height, width, 3];
  return shape.map((size, index) => size < 0 ? own[index] ?? size : size);
}
