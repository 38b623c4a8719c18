import { create } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { GetPropertiesRequestSchema } from "../../../shared/gen/viam/component/camera/v1/camera_pb.ts";
import {
  type Detection,
  DetectionSchema,
  GetDetectionsRequestSchema,
  type VisionService,
} from "../../../shared/gen/viam/service/vision/v1/vision_pb.ts";
import { dependencyNamed } from "../../resources/graph/dependency_named.ts";
import type { Driver } from "../../resources/graph/driver.ts";
import type { CallContext, Resource } from "../../resources/graph/resource.ts";
import type { ImageWorker } from "../image_processing/image_worker.ts";
import type { Lens } from "../image_processing/segments.ts";
import { type Camera, Cameras } from "./cameras.ts";
import type { SegmenterAttributes } from "./segmenter_attributes.ts";
import { type PointCloudObject, type Sight, VisionDriver } from "./vision_service.ts";

const VISION_API = "rdk:service:vision";
const MM_PER_METRE = 1_000;

type Vision = Driver<typeof VisionService>;

/** A driver that gives the points of a camera's cloud inside the boxes that a detector finds. */
export function createSegmenter(
  attributes: SegmenterAttributes,
  dependencies: ReadonlyMap<string, Resource>,
  worker: ImageWorker,
): VisionDriver {
  const { detector_name: name, confidence_threshold_pct: least = 0.5, sigma = 1.25 } = attributes;
  const detector = findDetector(name, dependencies);
  const detect = async (image: Uint8Array, call: CallContext): Promise<Detection[]> => {
    const request = create(GetDetectionsRequestSchema, { name, image });
    const { detections = [] } = await detector.getDetections?.(request, call) ?? {};
    return detections.map((found) => create(DetectionSchema, found))
      .filter(({ confidence }) => confidence >= least);
  };
  const sight: Sight = {
    what: "a segmenter",
    async segment({ name, camera, image }, call) {
      const lens = await lensOf(camera, name, call);
      const [boxes, cloud] = await Promise.all([
        detect(image, call),
        cloudOf(camera, name, call),
      ]);
      const found = await worker.segments(
        ...[cloud, lens, boxes.map((box) => sharesOf(box, lens)), sigma, call.signal] as const,
      );
      return found.flatMap((segment, index): PointCloudObject[] => {
        if (!segment) return [];
        const { bounds: { centre, size }, cloud } = segment;
        const [x, y, z] = centre.map((metres) => metres * MM_PER_METRE);
        const [xs, ys, zs] = size.map((metres) => metres * MM_PER_METRE);
        const geometry = {
          center: { x: x!, y: y!, z: z!, oZ: 1 },
          label: boxes[index]?.className ?? "",
          geometryType: { case: "box" as const, value: { dimsMm: { x: xs!, y: ys!, z: zs! } } },
        };
        const geometries = { referenceFrame: name, geometries: [geometry] };
        return [{ pointCloud: cloud, geometries }];
      });
    },
  };
  return new VisionDriver(() => sight, new Cameras(dependencies, attributes.camera_name ?? ""));
}

function findDetector(name: string, dependencies: ReadonlyMap<string, Resource>): Vision {
  const found = dependencyNamed(VISION_API, name, dependencies);
  if (found) return found;
  throw new Error(`attributes.detector_name: ${name} is no vision service`);
}

async function lensOf(camera: Camera, name: string, call: CallContext): Promise<Lens> {
  const request = create(GetPropertiesRequestSchema, { name });
  const { supportsPcd, intrinsicParameters: lens } = await camera.getProperties?.(request, call) ??
    {};
  if (!supportsPcd) {
    throw new ConnectError(
      `camera ${name} gives no point clouds; use one that measures depth`,
      Code.FailedPrecondition,
    );
  }
  const { widthPx = 0, heightPx = 0, focalXPx = 0, focalYPx = 0 } = lens ?? {};
  if (widthPx > 0 && heightPx > 0 && focalXPx > 0 && focalYPx > 0) {
    const { centerXPx = 0, centerYPx = 0 } = lens ?? {};
    return { widthPx, heightPx, focalXPx, focalYPx, centerXPx, centerYPx };
  }
  throw new ConnectError(
    `camera ${name} does not know its lens (intrinsic_parameters with focal lengths), so points ` +
      "cannot be matched with pixels",
    Code.FailedPrecondition,
  );
}

async function cloudOf(camera: Camera, name: string, call: CallContext): Promise<Uint8Array> {
  const { pointCloud } = await camera.getPointCloud?.({
    $typeName: "viam.component.camera.v1.GetPointCloudRequest",
    ...{ name, mimeType: "pointcloud/pcd" },
  }, call) ?? {};
  if (pointCloud) return pointCloud;
  throw new ConnectError(`camera ${name} gave no point cloud`, Code.Unavailable);
}

/** In shares of the image; detectors of modules may give pixels alone. */
function sharesOf(box: Detection, { widthPx, heightPx }: Lens) {
  return {
    xMin: box.xMinNormalized ?? Number(box.xMin ?? 0) / widthPx,
    yMin: box.yMinNormalized ?? Number(box.yMin ?? 0) / heightPx,
    xMax: box.xMaxNormalized ?? Number(box.xMax ?? 0) / widthPx,
    yMax: box.yMaxNormalized ?? Number(box.yMax ?? 0) / heightPx,
  };
}
