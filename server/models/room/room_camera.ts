import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type {
  CameraService,
  GetImagesRequest,
} from "../../../shared/gen/viam/component/camera/v1/camera_pb.ts";
import type { MovementSensorService } from "../../../shared/gen/viam/component/movementsensor/v1/movementsensor_pb.ts";
import type { Driver } from "../../resources/graph/driver.ts";
import type { CallContext } from "../../resources/graph/resource.ts";
import type { Used } from "../drivers/dependency.ts";
import type { ImageWorker } from "../image_processing/image_worker.ts";
import type { RoomScene } from "../image_processing/room_drawing.ts";
import type { RoomCameraAttributes } from "./room_attributes.ts";
import { PoseInRoom } from "./room_pose.ts";

const SOURCE = "color";
const JPEG = "image/jpeg";
/** Images a second, of which viewers are notified; each image takes another process some 30 ms. */
const IMAGES_PER_SECOND = 10;

export interface RoomCameraOptions {
  readonly sensor: Used<typeof MovementSensorService>;
  readonly attributes: RoomCameraAttributes;
  readonly worker: Pick<ImageWorker, "room">;
  readonly clock: Clock;
}

/** See {@link roomCameraModel}. While the base stands, its image is the one that was drawn last. */
export class RoomCamera implements Driver<typeof CameraService> {
  readonly #pose: PoseInRoom;
  readonly #scene: Omit<RoomScene, "pose">;
  readonly #size: { readonly width: number; readonly height: number; readonly focal: number };
  #drawn: { readonly key: string; readonly image: Promise<Uint8Array> } | undefined;

  constructor(private readonly options: RoomCameraOptions) {
    const { attributes } = options;
    const width = attributes.width_px ?? 480;
    const height = attributes.height_px ?? 270;
    const half = (attributes.field_of_view_deg ?? 70) / 2 * Math.PI / 180;
    const focal = width / 2 / Math.tan(half);
    const balls = (attributes.balls ?? []).map(({ x_m, y_m, radius_m, color }) => ({
      ...{ x: x_m, y: y_m, radius: radius_m, color },
    }));
    const room = {
      width: attributes.room_width_m ?? 6,
      length: attributes.room_length_m ?? 6,
    };
    this.#pose = new PoseInRoom({ ...room, balls });
    this.#scene = { room, balls, image: { width, height, focal } };
    this.#size = { width, height, focal };
  }

  async getImages(
    { filterSourceNames }: Pick<GetImagesRequest, "filterSourceNames">,
    { signal }: CallContext,
  ) {
    const unknown = filterSourceNames.find((name) => name !== SOURCE);
    if (unknown !== undefined) {
      throw new ConnectError(
        `there is no source ${unknown}; the camera has ${SOURCE}`,
        Code.InvalidArgument,
      );
    }
    const { sensor, clock, worker } = this.options;
    const [{ coordinate }, { value: heading = 0 }] = await Promise.all([
      sensor.call("getPosition", {}, signal),
      sensor.call("getCompassHeading", {}, signal),
    ]);
    const { latitude = 0, longitude = 0 } = coordinate ?? {};
    const pose = this.#pose.follow({ latitude, longitude, heading });
    const key = [pose.x, pose.y, pose.heading].map((value) => value.toFixed(3)).join(" ");
    if (this.#drawn?.key !== key) {
      const image = worker.room({ ...this.#scene, pose });
      const drawn = this.#drawn = { key, image };
      image.catch(() => {
        if (this.#drawn === drawn) this.#drawn = undefined; // the next call tries again
      });
    }
    return {
      images: [{ sourceName: SOURCE, image: await this.#drawn.image, mimeType: JPEG }],
      responseMetadata: { capturedAt: timestampFromDate(clock.now()) },
    };
  }

  getProperties() {
    const { width, height, focal } = this.#size;
    return {
      supportsPcd: false,
      mimeTypes: [JPEG],
      intrinsicParameters: {
        ...{ widthPx: width, heightPx: height, focalXPx: focal, focalYPx: focal },
        ...{ centerXPx: width / 2, centerYPx: height / 2 },
      },
      distortionParameters: { model: "brown_conrady", parameters: [0, 0, 0, 0, 0] },
      frameRate: IMAGES_PER_SECOND,
    };
  }

  /** Where the base was with the last image. */
  getStatus() {
    const { x, y, heading } = this.#pose.current;
    return { x_m: x, y_m: y, heading_deg: heading };
  }
}
