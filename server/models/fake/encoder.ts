import type {
  EncoderService,
  PositionType,
} from "../../../shared/gen/viam/component/encoder/v1/encoder_pb.ts";
import type { Clock, Timer } from "../../../shared/base/time/clock.ts";
import { attributes, integer, number, optional } from "../../resources/graph/attributes.ts";
import type { Driver } from "../../resources/graph/driver.ts";
import type { Model } from "../../resources/graph/registry.ts";
import { echo } from "./echo.ts";
import type { TurnedEncoder } from "./motor.ts";
import { repeat } from "./repeat.ts";
import { TRIED_WITH } from "./tried_with.ts";

const TICKS: PositionType.TICKS_COUNT = 1;
const DEGREES: PositionType.ANGLE_DEGREES = 2;

export interface FakeEncoderAttributes {
  update_rate_msec: number | undefined;
  ticks_per_update: number | undefined;
}

/** Model `rdk:builtin:fake` of `rdk:component:encoder`. */
export function fakeEncoderModel({ clock }: { clock: Clock }): Model<FakeEncoderAttributes> {
  return {
    api: "rdk:component:encoder",
    model: "rdk:builtin:fake",
    triedWith: TRIED_WITH,
    attributes: attributes<FakeEncoderAttributes>({
      update_rate_msec: optional(
        integer("Milliseconds from one change of the position to the next. Default 100.", {
          min: 1,
          max: 3_600_000,
        }),
      ),
      ticks_per_update: optional(
        number("Ticks added with each change, until a motor turns the encoder. Default 0."),
      ),
    }),
    construct({ attributes }) {
      const updateMs = attributes.update_rate_msec ?? 100;
      return new FakeEncoder(clock, updateMs, attributes.ticks_per_update ?? 0);
    },
  };
}

/** Counts ticks, a portion in each interval. */
export class FakeEncoder implements Driver<typeof EncoderService>, TurnedEncoder {
  #ticks = 0;
  readonly #timer: Timer;

  constructor(clock: Clock, private readonly updateMs: number, private ticksPerUpdate: number) {
    this.#timer = repeat(clock, updateMs, () => this.#ticks += this.ticksPerUpdate);
  }

  setSpeed(ticksPerMinute: number): void {
    this.ticksPerUpdate = ticksPerMinute * this.updateMs / 60_000;
  }

  getPosition({ positionType }: { positionType?: PositionType | undefined }) {
    if (positionType === DEGREES) {
      throw new Error("this encoder counts ticks; it does not know an angle in degrees");
    }
    return { value: this.#ticks, positionType: TICKS };
  }

  resetPosition() {
    this.#ticks = 0;
    return {};
  }

  getProperties() {
    return { ticksCountSupported: true, angleDegreesSupported: false };
  }

  doCommand = echo;

  close(): void {
    this.#timer.cancel();
  }
}
