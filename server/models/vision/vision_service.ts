import type { MessageInitShape } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { JobRefusedError } from "../../../shared/base/process/job_child.ts";
import type { PointCloudObjectSchema } from "../../../shared/gen/viam/common/v1/common_pb.ts";
import type {
  CaptureAllFromCameraRequest,
  DetectionSchema,
  VisionService,
} from "../../../shared/gen/viam/service/vision/v1/vision_pb.ts";
import type { FoundBox, FoundClass } from "../../../shared/inference/findings.ts";
import type { Driver } from "../../resources/graph/driver.ts";
import type { CallContext } from "../../resources/graph/resource.ts";
import type { Camera, Cameras } from "./cameras.ts";

/** What was found in an image of that size. */
export interface Detected {
  readonly width: number;
  readonly height: number;
  readonly boxes: readonly FoundBox[];
}

export type PointCloudObject = MessageInitShape<typeof PointCloudObjectSchema>;

/** What one kind of vision service does; what it leaves out it cannot. */
export interface Sight {
  /** What such a service is, for errors: "a colour detector". */
  readonly what: string;
  readonly detect?: (image: Uint8Array, call: CallContext) => Promise<Detected>;
  /** All classes, the likeliest first. */
  readonly classify?: (image: Uint8Array, call: CallContext) => Promise<readonly FoundClass[]>;
  readonly segment?: (
    seen: { readonly name: string; readonly camera: Camera; readonly image: Uint8Array },
    call: CallContext,
  ) => Promise<readonly PointCloudObject[]>;
  readonly close?: () => Promise<void>;
}

const PCD = "pointcloud/pcd";

/** The driver over what a kind of vision service does. */
export class VisionDriver implements Driver<typeof VisionService> {
  constructor(
    /** Queried with each call: of a model it is known late what it finds. */
    private readonly sight: (call: CallContext) => Sight | Promise<Sight>,
    private readonly cameras: Cameras,
  ) {}

  async getDetections({ image }: { readonly image: Uint8Array }, call: CallContext) {
    const sight = await this.sight(call);
    return { detections: await detections(sight, given(image), call) };
  }

  async getDetectionsFromCamera({ cameraName }: FromCamera, call: CallContext) {
    const sight = await this.sight(call);
    requireAble(sight, "detect");
    const { image } = await this.cameras.look(cameraName, call);
    return { detections: await detections(sight, image.image, call) };
  }

  async getClassifications(
    { image, n }: Counted & { readonly image: Uint8Array },
    call: CallContext,
  ) {
    const sight = await this.sight(call);
    return { classifications: await classifications(sight, given(image), atMost(n), call) };
  }

  async getClassificationsFromCamera({ cameraName, n }: FromCamera & Counted, call: CallContext) {
    const sight = await this.sight(call);
    requireAble(sight, "classify");
    const most = atMost(n);
    const { image } = await this.cameras.look(cameraName, call);
    return { classifications: await classifications(sight, image.image, most, call) };
  }

  async getObjectPointClouds(
    { cameraName, mimeType }: FromCamera & { readonly mimeType: string },
    call: CallContext,
  ) {
    const sight = await this.sight(call);
    const segment = requireAble(sight, "segment");
    if (mimeType !== "" && mimeType !== PCD) {
      throw new ConnectError(
        `point clouds are given as ${PCD}, not as ${JSON.stringify(mimeType)}`,
        Code.InvalidArgument,
      );
    }
    const { name, camera, image } = await this.cameras.look(cameraName, call);
    const seen = { name, camera, image: image.image };
    return { mimeType: PCD, objects: [...await refused(segment(seen, call))] };
  }

  getDetections3D(): never {
    throw new ConnectError(
      "boxes in space are found by no model that is built in; GetObjectPointClouds gives the " +
        "points of what a service of model rdk:builtin:detector_3d_segmenter finds",
      Code.Unimplemented,
    );
  }

  /** What the service cannot give is left out, as callers query for all of it in one. */
  async captureAllFromCamera(request: CaptureAllFromCameraRequest, call: CallContext) {
    const sight = await this.sight(call);
    const { name, camera, image } = await this.cameras.look(request.cameraName, call);
    const bytes = image.image;
    const [found, classes, objects] = await Promise.all([
      request.returnDetections && sight.detect ? detections(sight, bytes, call) : [],
      request.returnClassifications && sight.classify
        ? classifications(sight, bytes, ALL_CLASSES, call)
        : [],
      request.returnObjectPointClouds && sight.segment
        ? refused(sight.segment({ name, camera, image: bytes }, call))
        : [],
    ]);
    return {
      ...(request.returnImage && { image }),
      ...{ detections: found, classifications: classes, objects: [...objects] },
    };
  }

  getStatus() {
    const { defaultName } = this.cameras;
    return defaultName ? { default_camera: defaultName } : {};
  }

  async getProperties(_request: unknown, call: CallContext) {
    const { detect, classify, segment } = await this.sight(call);
    const { defaultName } = this.cameras;
    return {
      classificationsSupported: classify !== undefined,
      detectionsSupported: detect !== undefined,
      objectPointCloudsSupported: segment !== undefined,
      detections3dSupported: false,
      ...(defaultName && { defaultCamera: defaultName }),
    };
  }
}

interface FromCamera {
  readonly cameraName: string;
}

interface Counted {
  readonly n: number;
}

/** Of CaptureAllFromCamera, which names no number. */
const ALL_CLASSES = 100;

const INSTEAD = {
  detect: ["finds no boxes", "GetDetections", "a model that finds boxes"],
  classify: ["has no classes", "GetClassifications", "a model that classifies"],
  segment: ["gives no points", "GetObjectPointClouds", "model rdk:builtin:detector_3d_segmenter"],
} as const;

function requireAble<K extends keyof typeof INSTEAD>(sight: Sight, way: K): NonNullable<Sight[K]> {
  const able = sight[way];
  if (able) return able as NonNullable<Sight[K]>;
  const [lack, method, instead] = INSTEAD[way];
  throw new ConnectError(
    `this is ${sight.what}, which ${lack}; ${method} needs a vision service with ${instead}`,
    Code.Unimplemented,
  );
}

function given(image: Uint8Array): Uint8Array {
  if (image.length > 0) return image;
  throw new ConnectError("image: it is empty", Code.InvalidArgument);
}

function atMost(n: number): number {
  if (n > 0) return n;
  throw new ConnectError(`n: found ${n}, allowed: 1 and more`, Code.InvalidArgument);
}

async function detections(
  sight: Sight,
  image: Uint8Array,
  call: CallContext,
): Promise<MessageInitShape<typeof DetectionSchema>[]> {
  const { width, height, boxes } = await refused(requireAble(sight, "detect")(image, call));
  return boxes.map(({ label, confidence = 1, xMin, yMin, xMax, yMax }) => ({
    ...{ className: label, confidence },
    ...{ xMin: BigInt(Math.round(xMin * width)), yMin: BigInt(Math.round(yMin * height)) },
    ...{ xMax: BigInt(Math.round(xMax * width)), yMax: BigInt(Math.round(yMax * height)) },
    ...{ xMinNormalized: xMin, yMinNormalized: yMin, xMaxNormalized: xMax, yMaxNormalized: yMax },
  }));
}

async function classifications(sight: Sight, image: Uint8Array, most: number, call: CallContext) {
  const found = await refused(requireAble(sight, "classify")(image, call));
  return found.slice(0, most).map(({ label, confidence }) => ({ className: label, confidence }));
}

/** What cannot be worked on is the image's fault. */
async function refused<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof JobRefusedError)) throw error;
    throw new ConnectError(error.message, Code.InvalidArgument);
  }
}
