import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";
import { JobRefusedError } from "../../../shared/base/process/job_child.ts";
import {
  CameraService,
  GetImagesRequestSchema,
} from "../../../shared/gen/viam/component/camera/v1/camera_pb.ts";
import { VisionService } from "../../../shared/gen/viam/service/vision/v1/vision_pb.ts";
import type { Driver } from "../../resources/graph/driver.ts";
import { problemOf } from "../../resources/graph/noted_problems.ts";
import type { CallContext, Resource } from "../../resources/graph/resource.ts";
import { type Used, useDriver } from "../drivers/dependency.ts";
import { readImageHeader } from "../camera/image_header.ts";
import type { ImageStep } from "../image_processing/image_steps.ts";
import type { ImageWorker } from "../image_processing/image_worker.ts";
import { CAMERA_API, DEPTH_MIME_TYPE } from "../vision/cameras.ts";
import { type Pipeline, pipelineOf, type Stage } from "./pipeline.ts";
import type { TransformAttributes } from "./transform_attributes.ts";

const SOURCE = "color";
const JPEG = "image/jpeg";
const VISION_API = "rdk:service:vision";

/** See {@link transformModel}. */
export class TransformCamera implements Driver<typeof CameraService> {
  readonly #camera: Used<typeof CameraService>;
  readonly #services: ReadonlyMap<string, Used<typeof VisionService>>;
  readonly #pipeline: Pipeline;

  constructor(
    private readonly attributes: TransformAttributes,
    dependencies: ReadonlyMap<string, Resource>,
    private readonly worker: Pick<ImageWorker, "changed">,
  ) {
    this.#pipeline = pipelineOf(attributes);
    this.#camera = useDriver(CameraService, CAMERA_API, attributes.source, dependencies);
    this.#services = new Map(this.#pipeline.services.map((name) => [
      name,
      useDriver(VisionService, VISION_API, name, dependencies),
    ]));
  }

  async getImages(
    { filterSourceNames }: { readonly filterSourceNames: readonly string[] },
    { signal }: CallContext,
  ) {
    const unknown = filterSourceNames.find((name) => name !== SOURCE);
    if (unknown !== undefined) {
      throw new ConnectError(
        `there is no source ${JSON.stringify(unknown)}; this camera has "${SOURCE}"`,
        Code.InvalidArgument,
      );
    }
    const { images, capturedAt } = await this.#look(signal);
    let bytes = images;
    for (const stage of this.#pipeline.stages) bytes = [await this.#run(stage, bytes, signal)];
    const [image = new Uint8Array()] = bytes;
    const { mimeType } = readImageHeader(image, `the image of ${this.attributes.source}`);
    return {
      images: [{ sourceName: SOURCE, image, mimeType }],
      responseMetadata: { capturedAt },
    };
  }

  async getProperties(_request: unknown, call: CallContext) {
    const { intrinsic_parameters: lens, distortion_parameters: bent } = this.attributes;
    const { frameRate } = await this.#camera.call("getProperties", {}, call.signal);
    const shared = { supportsPcd: false, mimeTypes: [JPEG], ...(frameRate && { frameRate }) };
    const distortion = bent && {
      distortionParameters: {
        model: "brown_conrady",
        parameters: [bent.rk1, bent.rk2, bent.rk3, bent.tp1, bent.tp2].map((value) => value ?? 0),
      },
    };
    if (!lens) {
      const { images: [image] } = await this.getImages({ filterSourceNames: [] }, call);
      const { width, height } = readImageHeader(image!.image, "the image");
      return {
        ...shared,
        intrinsicParameters: { widthPx: width, heightPx: height },
        ...distortion,
      };
    }
    return {
      ...shared,
      intrinsicParameters: {
        ...{ widthPx: lens.width_px, heightPx: lens.height_px },
        ...{ focalXPx: lens.fx, focalYPx: lens.fy, centerXPx: lens.ppx, centerYPx: lens.ppy },
      },
      ...distortion,
    };
  }

  getStatus() {
    return { source: this.attributes.source, steps: this.attributes.pipeline.length };
  }

  /** That of what it is made of. */
  problem(): string | undefined {
    for (const { name, resource } of [this.#camera, ...this.#services.values()]) {
      const problem = problemOf(resource);
      if (problem !== undefined) return `${name}, which it uses, has a problem: ${problem}`;
    }
  }

  getPointCloud(): never {
    throw new ConnectError(
      `the points of an image that was changed are not known; ask ${this.attributes.source}`,
      Code.Unimplemented,
    );
  }

  async #look(signal: AbortSignal) {
    const request = create(GetImagesRequestSchema, {});
    const { images = [], responseMetadata } = await this.#camera.call("getImages", request, signal);
    const depth = images.find(({ mimeType }) => mimeType === DEPTH_MIME_TYPE);
    const colour =
      images.find(({ sourceName, mimeType }) =>
        sourceName === SOURCE && mimeType !== DEPTH_MIME_TYPE
      ) ?? images.find(({ mimeType }) => mimeType !== DEPTH_MIME_TYPE);
    const { input } = this.#pipeline;
    const wanted = input === "both" ? [colour, depth] : [input === "depth" ? depth : colour];
    const found = wanted.map((image) => image?.image);
    const missing = found.findIndex((bytes) => !bytes);
    if (missing >= 0) {
      const what = input === "color" || (input === "both" && missing === 0) ? "colours" : "depth";
      throw new ConnectError(
        `camera ${this.attributes.source} gave no image of ${what}, which the pipeline needs`,
        Code.FailedPrecondition,
      );
    }
    return {
      images: found as Uint8Array[],
      capturedAt: responseMetadata?.capturedAt ?? timestampFromDate(new Date()),
    };
  }

  async #run(stage: Stage, images: readonly Uint8Array[], signal: AbortSignal) {
    const steps = stage.kind === "image"
      ? stage.steps
      : await this.#found(stage, images[0]!, signal);
    if (steps.every(({ kind }) => kind === "identity")) return images[0]!;
    try {
      return await this.worker.changed(images, steps, signal);
    } catch (error) {
      if (!(error instanceof JobRefusedError)) throw error;
      throw new ConnectError(error.message, Code.FailedPrecondition);
    }
  }

  /** What a vision service finds, as something to draw. */
  async #found(
    { kind, service, least, most, labels }: Exclude<Stage, { kind: "image" }>,
    image: Uint8Array,
    signal: AbortSignal,
  ): Promise<ImageStep[]> {
    const vision = this.#services.get(service)!;
    const { width, height, mimeType } = readImageHeader(image, "the image");
    const size = { width: BigInt(width), height: BigInt(height) };
    const isWanted = (label: string, confidence: number) =>
      confidence >= least && (labels?.has(label) ?? true);
    const named = (label: string, confidence: number) =>
      `${label} ${(confidence * 100).toFixed(0)}%`;
    if (kind === "classifications") {
      const { classifications = [] } = await vision.call(
        ...["getClassifications", { image, mimeType, n: 100 }, signal] as const,
      );
      const lines = classifications
        .map(({ className = "", confidence = 0 }) => ({ className, confidence }))
        .filter(({ className, confidence }) => isWanted(className, confidence))
        .slice(0, most).map(({ className, confidence }) => named(className, confidence));
      return [{ kind: "text", lines }];
    }
    const { detections = [] } = await vision.call(
      ...["getDetections", { image, mimeType, ...size }, signal] as const,
    );
    return detections.flatMap((found): ImageStep[] => {
      const { className = "", confidence = 0, xMin, yMin, xMax, yMax } = found;
      if (!isWanted(className, confidence)) return [];
      const box = {
        x: Number(xMin ?? 0),
        y: Number(yMin ?? 0),
        right: Number(xMax ?? 0),
        bottom: Number(yMax ?? 0),
      };
      return [{ kind: "box", box, label: named(className, confidence) }];
    });
  }
}
