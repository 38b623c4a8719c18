import { MovementSensorService } from "../../../shared/gen/viam/component/movementsensor/v1/movementsensor_pb.ts";
import {
  AttributeError,
  attributes,
  converted,
  integer,
  listOf,
  number,
  objectOf,
  optional,
  text,
} from "../../resources/graph/attributes.ts";
import type { Model } from "../../resources/graph/registry.ts";
import { useDriver } from "../drivers/dependency.ts";
import type { BuiltinEnvironment } from "../environment.ts";
import type { ImageWorker } from "../image_processing/image_worker.ts";
import type { Ball, RoomCameraAttributes } from "./room_attributes.ts";

/** Each is looked for in each pixel. */
const MOST_BALLS = 50;
const SENSOR_API = "rdk:component:movement_sensor";

/**
 * Model `rdk:builtin:simulated` of `rdk:component:camera`: what a camera on a base would see in a
 * room that is not there, from where a movement sensor says that the base is.
 */
export function roomCameraModel(
  { clock }: BuiltinEnvironment,
  worker: () => ImageWorker,
): Model<RoomCameraAttributes> {
  return {
    api: "rdk:component:camera",
    model: "rdk:builtin:simulated",
    triedWith:
      "the rover of the simulated board, drawn and detected in a running machine (`make run`)",
    attributes: attributes<RoomCameraAttributes>({
      movement_sensor: text(
        "Sensor with position and compass heading, such as wheeled-odometry. The base begins in " +
          "the middle of the room, facing north.",
      ),
      width_px: optional(pixels("Width of images. Default 480.")),
      height_px: optional(pixels("Height of images. Default 270.")),
      field_of_view_deg: optional(
        number("From the left edge of images to the right. Default 70.", { min: 10, max: 150 }),
      ),
      room_width_m: optional(number("From west to east. Default 6.", { min: 1, max: 1_000 })),
      room_length_m: optional(number("From south to north. Default 6.", { min: 1, max: 1_000 })),
      balls: optional(listOf(
        objectOf<Ball>({
          x_m: number("East of the middle of the room."),
          y_m: number("North of the middle of the room."),
          radius_m: number("Its size.", { min: 0.01, max: 10 }),
          color: converted(
            text("As #RRGGBB."),
            "a colour as #RRGGBB",
            (value): readonly [number, number, number] | undefined => {
              const digits = /^#([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})$/i.exec(value)?.slice(1);
              if (!digits) return undefined;
              const [red = 0, green = 0, blue = 0] = digits.map((each) => parseInt(each, 16));
              return [red, green, blue];
            },
          ),
        }, "A ball on the floor."),
        `What lies in the room, at most ${MOST_BALLS}. The base cannot drive through it. Default: none.`,
      )),
    }),
    dependencies({ movement_sensor, balls = [] }) {
      if (balls.length <= MOST_BALLS) return { required: [movement_sensor] };
      throw new AttributeError(
        "attributes.balls",
        `${balls.length} balls`,
        `at most ${MOST_BALLS}`,
      );
    },
    async construct({ attributes, dependencies }) {
      const { RoomCamera } = await import("./room_camera.ts");
      const { movement_sensor: name } = attributes;
      const sensor = useDriver(MovementSensorService, SENSOR_API, name, dependencies);
      return new RoomCamera({ sensor, attributes, worker: worker(), clock });
    },
  };
}

/** What streams video of an image needs an even size. */
function pixels(description: string) {
  return converted(
    integer(description, { min: 16, max: 1920 }),
    "an even number from 16 to 1920",
    (value) => value % 2 === 0 ? value : undefined,
  );
}
