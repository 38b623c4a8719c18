/** A rover in user space: a simulated board with two motors and their encoders. */
import type { JsonObject } from "@bufbuild/protobuf";
import type { Model } from "../../resources/graph/registry.ts";
import type { Resource } from "../../resources/graph/resource.ts";
import { simulatedBoardModel } from "../board/simulated_board_model.ts";
import { incrementalEncoderModel } from "../encoder/encoder_models.ts";
import type { GpioMotor } from "../motor/gpio_motor.ts";
import { gpioMotorModel } from "../motor/motor_models.ts";
import { construct, testEnvironment } from "../testing.ts";

/** Attributes of a board with the motors `left` and `right`, 200 ticks and 200 RPM each. */
const ROVER_BOARD = {
  digital_interrupts: ["la", "lb", "ra", "rb"].map((name, at) => ({ name, pin: String(20 + at) })),
  motors: [
    { name: "left", pwm: 1, dir: 2, encoder_a: 20, encoder_b: 21 },
    { name: "right", pwm: 3, dir: 4, encoder_a: 22, encoder_b: 23 },
  ].map((motor) => ({ ...motor, max_rpm: 200, ticks_per_rotation: 200 })),
};

/** Resources by short name, which later ones depend on. */
export class Parts {
  readonly #parts = new Map<string, Resource>();
  readonly environment = testEnvironment();

  async add<R extends Resource>(
    name: string,
    model: Model<unknown>,
    attributes: JsonObject,
  ): Promise<R> {
    const made = await construct<R, unknown>(model, attributes, { dependencies: this.#parts });
    this.#parts.set(`${model.api}/${name}`, made);
    return made;
  }

  get<R extends Resource>(fullName: string): R {
    return this.#parts.get(fullName) as R;
  }

  async close(): Promise<void> {
    for (const part of [...this.#parts.values()].reverse()) await part.close?.();
  }
}

/** Board, encoders and motors. */
export async function roverParts(motor: JsonObject = {}): Promise<Parts> {
  const parts = new Parts();
  await parts.add("board", simulatedBoardModel(parts.environment) as Model<unknown>, ROVER_BOARD);
  for (const [side, pwm] of [["left", 1], ["right", 3]] as const) {
    const [a, b] = [`${side[0]}a`, `${side[0]}b`];
    await parts.add(
      `${side}-encoder`,
      incrementalEncoderModel(parts.environment) as Model<unknown>,
      {
        board: "board",
        pins: { a, b },
      },
    );
    await parts.add<GpioMotor>(side, gpioMotorModel(parts.environment) as Model<unknown>, {
      board: "board",
      pins: { pwm: String(pwm), dir: String(pwm + 1) },
      encoder: `${side}-encoder`,
      ticks_per_rotation: 200,
      max_rpm: 200,
      ...motor,
    });
  }
  return parts;
}
