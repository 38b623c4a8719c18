import { Code, ConnectError } from "@connectrpc/connect";
import type { CameraService } from "../../../shared/gen/viam/component/camera/v1/camera_pb.ts";
import type { VisionService } from "../../../shared/gen/viam/service/vision/v1/vision_pb.ts";
import { attributes, optional, text } from "../../resources/graph/attributes.ts";
import { dependencyNamed } from "../../resources/graph/dependency_named.ts";
import type { Driver } from "../../resources/graph/driver.ts";
import type { Model } from "../../resources/graph/registry.ts";
import type { CallContext, Resource } from "../../resources/graph/resource.ts";
import { readImageHeader } from "../camera/image_header.ts";
import { echo } from "./echo.ts";
import { TRIED_WITH } from "./tried_with.ts";

const CAMERA_API = "rdk:component:camera";

const CLASSIFICATION = { className: "a_classification", confidence: 0.85 };

/** The detection's box, as shares of the image. */
const [BOX_FROM, BOX_TO] = [0.25, 0.75];

export interface FakeVisionAttributes {
  camera_name: string | undefined;
}

/** Model `rdk:builtin:fake` of `rdk:service:vision`: sees the same in every image. */
export const fakeVisionModel: Model<FakeVisionAttributes> = {
  api: "rdk:service:vision",
  model: "rdk:builtin:fake",
  triedWith: TRIED_WITH,
  attributes: attributes<FakeVisionAttributes>({
    camera_name: optional(text("The camera of calls that name none. Default: none.")),
  }),
  dependencies: ({ camera_name }) => ({ optional: camera_name === undefined ? [] : [camera_name] }),
  weakDependencies: [CAMERA_API],
  construct: ({ attributes, dependencies }) =>
    new FakeVision(dependencies, attributes.camera_name ?? ""),
};

interface FromCamera {
  readonly cameraName: string;
}

interface Size {
  readonly width: number;
  readonly height: number;
}

interface Given {
  readonly image: Uint8Array;
  readonly width: number | bigint;
  readonly height: number | bigint;
}

/** Detections and classifications that do not depend on what the image shows. */
export class FakeVision implements Driver<typeof VisionService> {
  /** @param cameras by full name; resources of other APIs among them are not looked at. */
  constructor(
    private readonly cameras: ReadonlyMap<string, Resource>,
    private readonly defaultCamera: string,
  ) {}

  async getDetectionsFromCamera({ cameraName }: FromCamera, call: CallContext) {
    const { size } = await this.#look(cameraName, call);
    return { detections: [detectionIn(size)] };
  }

  getDetections(request: Given) {
    return { detections: [detectionIn(sizeOf(request))] };
  }

  async getClassificationsFromCamera(
    { cameraName, n }: FromCamera & { n: number },
    call: CallContext,
  ) {
    await this.#look(cameraName, call);
    return { classifications: best(n) };
  }

  getClassifications({ n }: { n: number }) {
    return { classifications: best(n) };
  }

  async captureAllFromCamera(
    request: FromCamera & {
      returnImage: boolean;
      returnClassifications: boolean;
      returnDetections: boolean;
    },
    call: CallContext,
  ) {
    const { image, size } = await this.#look(request.cameraName, call);
    return {
      ...(request.returnImage && { image }),
      ...(request.returnDetections && { detections: [detectionIn(size)] }),
      ...(request.returnClassifications && { classifications: [CLASSIFICATION] }),
    };
  }

  getProperties() {
    return {
      classificationsSupported: true,
      detectionsSupported: true,
      objectPointCloudsSupported: false,
      ...(this.defaultCamera && { defaultCamera: this.defaultCamera }),
    };
  }

  doCommand = echo;

  /** The camera's first image and its size. */
  async #look(cameraName: string, call: CallContext) {
    const name = cameraName || this.defaultCamera;
    const camera = dependencyNamed(CAMERA_API, name, this.cameras) as
      | Driver<typeof CameraService>
      | undefined;
    if (!camera?.getImages) {
      const known = [...this.cameras.keys()].filter((key) => key.startsWith(`${CAMERA_API}/`));
      throw new ConnectError(
        `there is no camera "${name}" that is ready; this machine has ${
          known.join(", ") || "none"
        }`,
        Code.NotFound,
      );
    }
    const { images = [] } = await camera.getImages({
      $typeName: "viam.component.camera.v1.GetImagesRequest",
      name,
      filterSourceNames: [],
    }, call);
    const [image] = images;
    if (!image?.image) throw new Error(`camera ${name} gave no image`);
    return { image, size: readImageHeader(image.image, `the image of camera ${name}`) };
  }
}

/** The size that the caller names, or the one in the image itself. */
function sizeOf({ image, width, height }: Given): Size {
  if (width && height) return { width: Number(width), height: Number(height) };
  try {
    return readImageHeader(image, "image");
  } catch (error) {
    throw ConnectError.from(error, Code.InvalidArgument);
  }
}

function detectionIn({ width, height }: Size) {
  return {
    className: "a_detection",
    confidence: 0.92,
    xMin: BigInt(Math.floor(width * BOX_FROM)),
    yMin: BigInt(Math.floor(height * BOX_FROM)),
    xMax: BigInt(Math.floor(width * BOX_TO)),
    yMax: BigInt(Math.floor(height * BOX_TO)),
    xMinNormalized: BOX_FROM,
    yMinNormalized: BOX_FROM,
    xMaxNormalized: BOX_TO,
    yMaxNormalized: BOX_TO,
  };
}

/** The best `n` of the one classification there is. */
function best(n: number) {
  return n >= 1 ? [CLASSIFICATION] : [];
}
