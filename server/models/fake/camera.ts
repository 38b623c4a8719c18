import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";
import type {
  CameraService,
  GetImagesRequest,
} from "../../../shared/gen/viam/component/camera/v1/camera_pb.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import {
  attributes,
  boolean,
  type Check,
  converted,
  integer,
  optional,
} from "../../resources/graph/attributes.ts";
import type { Driver } from "../../resources/graph/driver.ts";
import type { Model } from "../../resources/graph/registry.ts";
import { echo } from "./echo.ts";
import { gradientColor, gradientJpeg } from "./gradient.ts";
import { pcd, PCD_MIME_TYPE, type Point } from "./point_cloud.ts";
import { TRIED_WITH } from "./tried_with.ts";

/** Name of the only source of images. */
const SOURCE = "color";

const JPEG_MIME_TYPE = "image/jpeg";

/** Most pixels in a direction. */
const WIDEST_PX = 10_000;

/** Pixels from one point of the point cloud to the next; a pixel is a millimetre there. */
const POINT_SPACING_PX = 10;

const PX_PER_METER = 1_000;

export interface FakeCameraAttributes {
  width: number | undefined;
  height: number | undefined;
  animated: boolean | undefined;
}

/** Model `rdk:builtin:fake` of `rdk:component:camera`: sees a gradient. */
export function fakeCameraModel({ clock }: { clock: Clock }): Model<FakeCameraAttributes> {
  return {
    api: "rdk:component:camera",
    model: "rdk:builtin:fake",
    triedWith: TRIED_WITH,
    attributes: attributes<FakeCameraAttributes>({
      width: optional(pixels("Pixels from left to right. Default 1280.")),
      height: optional(pixels("Pixels from top to bottom. Default 720.")),
      animated: optional(
        boolean("Whether the gradient moves: ten images a second, in a circle."),
      ),
    }),
    construct: ({ attributes: { width = 1280, height = 720, animated = false } }) =>
      new FakeCamera(clock, width, height, animated),
  };
}

/** Images of the moving gradient, and how many are taken in a second. */
const ANIMATION = { images: 20, perSecond: 10 };

/** What streams video of an image needs an even size. */
function pixels(description: string): Check<number> {
  const allowed = `an even number from 2 to ${WIDEST_PX}`;
  const inBounds = integer(description, { min: 2, max: WIDEST_PX });
  return converted(inBounds, allowed, (value) => value % 2 === 0 ? value : undefined);
}

/** Makes its images and its point cloud when they are first requested, and keeps them. */
export class FakeCamera implements Driver<typeof CameraService> {
  readonly #images: Promise<Uint8Array>[] = [];
  #pointCloud: Uint8Array | undefined;

  constructor(
    private readonly clock: Clock,
    private readonly width: number,
    private readonly height: number,
    private readonly animated = false,
  ) {}

  async getImages({ filterSourceNames }: Pick<GetImagesRequest, "filterSourceNames">) {
    const unknown = filterSourceNames.find((name) => name !== SOURCE);
    if (unknown !== undefined) {
      throw new ConnectError(
        `there is no source ${unknown}; the camera has ${SOURCE}`,
        Code.InvalidArgument,
      );
    }
    const { images, perSecond } = ANIMATION;
    const now = this.clock.now().getTime();
    const number = this.animated ? Math.floor(now * perSecond / 1_000) % images : 0;
    this.#images[number] ??= gradientJpeg(this.width, this.height, number / images);
    const image = await this.#images[number];
    return {
      images: [{ sourceName: SOURCE, image, mimeType: JPEG_MIME_TYPE }],
      responseMetadata: { capturedAt: timestampFromDate(this.clock.now()) },
    };
  }

  getPointCloud() {
    this.#pointCloud ??= pcd(gradientPoints(this.width, this.height));
    return { mimeType: PCD_MIME_TYPE, pointCloud: this.#pointCloud };
  }

  getProperties() {
    const { width, height } = this;
    return {
      supportsPcd: true,
      mimeTypes: [JPEG_MIME_TYPE],
      intrinsicParameters: {
        widthPx: width,
        heightPx: height,
        focalXPx: width,
        focalYPx: width,
        centerXPx: width / 2,
        centerYPx: height / 2,
      },
      distortionParameters: { model: "brown_conrady", parameters: [0, 0, 0, 0, 0] },
      frameRate: this.animated ? ANIMATION.perSecond : 1,
    };
  }

  doCommand = echo;
}

function gradientPoints(width: number, height: number): Point[] {
  const points: Point[] = [];
  for (let y = 0; y < height; y += POINT_SPACING_PX) {
    for (let x = 0; x < width; x += POINT_SPACING_PX) {
      const color = gradientColor(x, y, width, height);
      points.push({ x: x / PX_PER_METER, y: y / PX_PER_METER, z: 0, color });
    }
  }
  return points;
}
