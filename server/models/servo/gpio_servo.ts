import { Code, ConnectError } from "@connectrpc/connect";
import type { BoardService } from "../../../shared/gen/viam/component/board/v1/board_pb.ts";
import type { ServoService } from "../../../shared/gen/viam/component/servo/v1/servo_pb.ts";
import type { Driver } from "../../resources/graph/driver.ts";
import type { Used } from "../drivers/dependency.ts";
import type { GpioServoAttributes } from "./gpio_servo_attributes.ts";

const DEFAULT_HZ = 50;

/** See {@link gpioServoModel}. A servo reports nothing: its position is the last one it was sent. */
export class GpioServo implements Driver<typeof ServoService> {
  #angle: number;
  #on = false;

  private constructor(
    private readonly board: Used<typeof BoardService>,
    private readonly attributes: GpioServoAttributes,
  ) {
    this.#angle = attributes.starting_position_deg ?? this.#least;
  }

  /** @throws when the pin cannot be used, or the attributes contradict one another. */
  static async create(
    board: Used<typeof BoardService>,
    attributes: GpioServoAttributes,
  ): Promise<GpioServo> {
    const servo = new GpioServo(board, attributes);
    const { min_width_us: least = 500, max_width_us: most = 2_500 } = attributes;
    const hz = attributes.frequency_hz ?? DEFAULT_HZ;
    if (servo.#least >= servo.#most || least >= most || most >= 1_000_000 / hz) {
      throw new ConnectError(
        "attributes: min_angle_deg must be less than max_angle_deg, min_width_us less than " +
          `max_width_us, and that shorter than a period (${1_000_000 / hz} µs)`,
        Code.InvalidArgument,
      );
    }
    await board.call("setPWMFrequency", { pin: attributes.pin, frequencyHz: BigInt(hz) });
    const start = attributes.starting_position_deg;
    if (start !== undefined) await servo.move({ angleDeg: start });
    return servo;
  }

  async move({ angleDeg }: { angleDeg: number }) {
    if (angleDeg < this.#least || angleDeg > this.#most) {
      throw new ConnectError(
        `angle_deg is ${angleDeg}; this servo goes from ${this.#least} to ${this.#most} degrees`,
        Code.InvalidArgument,
      );
    }
    const { min_width_us: least = 500, max_width_us: most = 2_500 } = this.attributes;
    const part = (angleDeg - this.#least) / (this.#most - this.#least);
    const widthUs = least + part * (most - least);
    const dutyCyclePct = widthUs * (this.attributes.frequency_hz ?? DEFAULT_HZ) / 1_000_000;
    await this.board.call("setPWM", { pin: this.attributes.pin, dutyCyclePct });
    this.#angle = angleDeg;
    this.#on = true;
    return {};
  }

  getPosition() {
    return { positionDeg: Math.round(this.#angle) };
  }

  isMoving() {
    return { isMoving: false };
  }

  /** Without pulses a servo holds nothing any more. */
  async stop(): Promise<void> {
    await this.board.call("setPWM", { pin: this.attributes.pin, dutyCyclePct: 0 });
    this.#on = false;
  }

  getStatus() {
    return { position_deg: Math.round(this.#angle), is_powered: this.#on };
  }

  async close(): Promise<void> {
    await this.stop();
  }

  get #least(): number {
    return this.attributes.min_angle_deg ?? 0;
  }

  get #most(): number {
    return this.attributes.max_angle_deg ?? 180;
  }
}
