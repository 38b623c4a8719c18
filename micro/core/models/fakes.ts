import type { Json } from "../../../shared/gen/micro/messages.ts";
import type { Host } from "../host/host.ts";
import { type Model, model } from "../resources/models.ts";
import { RpcError } from "../rpc/errors.ts";

const FAKE = "rdk:builtin:fake";
const MINUTE_MS = 60_000;
const TICKS = 1;

const doCommand = ({ command }: { command?: Record<string, Json> | undefined }) => ({
  result: command ?? {},
});

/** Models without hardware, one for each API, with the attributes of machine-server's. */
export const fakes: readonly Model[] = [
  model("rdk:component:sensor", FAKE, ({ attributes }) => {
    const readings = attributes.object("readings", { a: 1, b: 2, c: 3 });
    return { getReadings: () => ({ readings }), doCommand };
  }),

  model("rdk:component:generic", FAKE, () => ({ doCommand })),

  model("rdk:component:servo", FAKE, () => {
    let positionDeg = 0;
    return {
      move({ angleDeg }) {
        if (angleDeg > 180) {
          throw new RpcError(
            "invalid_argument",
            `angle_deg is ${angleDeg}; a servo turns 0 to 180`,
          );
        }
        positionDeg = angleDeg;
        return {};
      },
      getPosition: () => ({ positionDeg }),
      isMoving: () => ({ isMoving: false }),
      stop: () => ({}),
      getStatus: () => ({ result: { position_deg: positionDeg, is_moving: false } }),
      doCommand,
    };
  }),

  model("rdk:component:motor", FAKE, ({ host, attributes }) => {
    const maxRpm = attributes.number("max_rpm", { min: 0.001, default: 100 });
    return new FakeMotor(host, maxRpm);
  }),

  model("rdk:component:encoder", FAKE, ({ host, attributes }) => {
    const every = attributes.number("update_rate_msec", { min: 1, default: 100 });
    const ticks = attributes.number("ticks_per_update", { default: 0 });
    let zero = host.now();
    return {
      getPosition: () => ({
        value: Math.floor((host.now() - zero) / every) * ticks,
        positionType: TICKS,
      }),
      resetPosition() {
        zero = host.now();
        return {};
      },
      getProperties: () => ({ ticksCountSupported: true, angleDegreesSupported: false }),
      doCommand,
    };
  }),

  model("rdk:component:base", FAKE, ({ attributes }) => {
    const widthMm = attributes.number("width_mm", { min: 0.001, default: 600 });
    const circumferenceMm = attributes.number("wheel_circumference_mm", { min: 1, default: 3000 });
    let isMoving = false;
    type Vector = { readonly x: number; readonly y: number; readonly z: number };
    const drive = (request: { linear?: Vector | undefined; angular?: Vector | undefined }) => {
      isMoving = [request.linear, request.angular].some((v) => v && (v.x || v.y || v.z));
      return {};
    };
    const arrive = () => {
      isMoving = false;
      return {};
    };
    return {
      moveStraight: arrive,
      spin: arrive,
      setPower: drive,
      setVelocity: drive,
      stop: arrive,
      halt: arrive,
      isMoving: () => ({ isMoving }),
      getProperties: () => ({
        widthMeters: widthMm / 1000,
        turningRadiusMeters: 0,
        wheelCircumferenceMeters: circumferenceMm / 1000,
      }),
      getStatus: () => ({ result: { is_moving: isMoving } }),
      doCommand,
    };
  }),

  model("rdk:component:movement_sensor", FAKE, ({ attributes }) => {
    const latitude = attributes.number("latitude", { min: -90, max: 90, default: 40.7 });
    const longitude = attributes.number("longitude", { min: -180, max: 180, default: -73.98 });
    const altitudeM = attributes.number("altitude_m", { default: 50.5 });
    const compass = attributes.number("compass_deg", { min: 0, max: 360, default: 25 });
    return {
      getPosition: () => ({ coordinate: { latitude, longitude }, altitudeM }),
      getLinearVelocity: () => ({ linearVelocity: { x: 0, y: 5.4, z: 0 } }),
      getLinearAcceleration: () => ({ linearAcceleration: { x: 2.2, y: 4.5, z: 2 } }),
      getAngularVelocity: () => ({ angularVelocity: { x: 0, y: 0, z: 1 } }),
      getCompassHeading: () => ({ value: compass }),
      getOrientation: () => ({ orientation: { oX: 0, oY: 0, oZ: 1, theta: 0 } }),
      getAccuracy: () => ({ positionHdop: 0, positionVdop: 0, positionNmeaGgaFix: 4 }),
      getProperties: () => ({
        positionSupported: true,
        linearVelocitySupported: true,
        linearAccelerationSupported: true,
        angularVelocitySupported: true,
        compassHeadingSupported: true,
        orientationSupported: true,
      }),
      doCommand,
    };
  }),

  model("rdk:component:power_sensor", FAKE, ({ attributes }) => {
    const volts = attributes.number("volts", { default: 1.5 });
    const amperes = attributes.number("amperes", { default: 2.2 });
    const watts = attributes.number("watts", { default: 9.8 });
    const isAc = attributes.boolean("is_ac", true);
    return {
      getVoltage: () => ({ volts, isAc }),
      getCurrent: () => ({ amperes, isAc }),
      getPower: () => ({ watts }),
      doCommand,
    };
  }),

  model("rdk:component:switch", FAKE, ({ attributes }) => {
    const labels = attributes.texts("labels");
    const count = attributes.number("position_count", {
      min: 1,
      max: 1000,
      default: labels.length || 2,
    });
    if (labels.length > 0 && labels.length !== count) {
      throw new Error(`attributes.labels has ${labels.length} names for ${count} positions`);
    }
    let position = 0;
    return {
      setPosition(request) {
        if (request.position >= count) {
          throw new RpcError(
            "invalid_argument",
            `position ${request.position} is out of range; the switch has 0 to ${count - 1}`,
          );
        }
        position = request.position;
        return {};
      },
      getPosition: () => ({ position }),
      getNumberOfPositions: () => ({ numberOfPositions: count, labels }),
      getStatus: () => ({ result: { position } }),
      doCommand,
    };
  }),

  model("rdk:component:board", FAKE, ({ attributes }) => {
    const analogs = new Map(
      attributes.groups("analogs").map((one) => {
        const name = one.text("name");
        return [name, 0];
      }),
    );
    const pins = new Map<string, { high: boolean; duty: number; frequencyHz: number }>();
    const pin = (name: string) => {
      const known = pins.get(name) ?? { high: false, duty: 0, frequencyHz: 0 };
      if (pins.size < 64) pins.set(name, known);
      return known;
    };
    return {
      setGPIO: (request) => (pin(request.pin).high = request.high, {}),
      getGPIO: (request) => ({ high: pin(request.pin).high }),
      setPWM: (request) => (pin(request.pin).duty = request.dutyCyclePct, {}),
      pWM: (request) => ({ dutyCyclePct: pin(request.pin).duty }),
      setPWMFrequency: (request) => (pin(request.pin).frequencyHz = request.frequencyHz, {}),
      pWMFrequency: (request) => ({ frequencyHz: pin(request.pin).frequencyHz }),
      readAnalogReader({ analogReaderName: name }) {
        const value = analogs.get(name);
        if (value === undefined) {
          throw new RpcError("not_found", `there is no analogue reader ${name}; add it to analogs`);
        }
        analogs.set(name, (value + 1) % 1001);
        return { value, minRange: 0, maxRange: 1000, stepSize: 1 };
      },
      doCommand,
    };
  }),
];

/** Turns in time as its power says; knows where it is. */
class FakeMotor {
  #power = 0;
  #turns = 0;
  #since: number;
  /** Ends the running command; it resolves. */
  #end: (() => void) | undefined;
  readonly doCommand = doCommand;

  constructor(private readonly host: Host, private readonly maxRpm: number) {
    this.#since = host.now();
  }

  setPower({ powerPct }: { powerPct: number }) {
    this.#begin(powerPct);
    return {};
  }

  setRPM({ rpm }: { rpm: number }) {
    this.#begin(rpm / this.maxRpm);
    return {};
  }

  goFor({ rpm, revolutions }: { rpm: number; revolutions: number }) {
    return this.#turn(rpm, revolutions * Math.sign(rpm));
  }

  goTo({ rpm, positionRevolutions }: { rpm: number; positionRevolutions: number }) {
    return this.#turn(rpm, positionRevolutions - this.#position());
  }

  resetZeroPosition({ offset }: { offset: number }) {
    this.#set(this.#power);
    this.#turns = -offset;
    return {};
  }

  getPosition() {
    return { position: this.#position() };
  }

  getProperties() {
    return { positionReporting: true };
  }

  isPowered() {
    return { isOn: this.#power !== 0, powerPct: this.#power };
  }

  isMoving() {
    return { isMoving: this.#power !== 0 };
  }

  stop() {
    this.#begin(0);
    return {};
  }

  halt() {
    this.#begin(0);
  }

  close() {
    this.#begin(0);
  }

  getStatus() {
    return { result: { is_powered: this.#power !== 0, position: this.#position() } };
  }

  #turn(rpm: number, turns: number): Promise<Record<never, never>> | Record<never, never> {
    const speed = Math.min(Math.abs(rpm), this.maxRpm);
    if (!(speed > 0)) throw new RpcError("invalid_argument", `cannot move at ${rpm} RPM`);
    const target = this.#position() + turns;
    this.#begin(Math.sign(turns || rpm) * speed / this.maxRpm);
    if (turns === 0) return {};
    return new Promise((resolve) => {
      const timer = this.host.setTimer(Math.abs(turns) / speed * MINUTE_MS, () => {
        this.#begin(0);
        this.#turns = target;
      });
      this.#end = () => {
        this.host.clearTimer(timer);
        resolve({});
      };
    });
  }

  #begin(power: number): void {
    const end = this.#end;
    this.#end = undefined;
    this.#set(Math.max(-1, Math.min(1, power)));
    end?.();
  }

  #set(power: number): void {
    this.#turns = this.#position();
    this.#since = this.host.now();
    this.#power = power;
  }

  #position(): number {
    return this.#turns + this.#power * this.maxRpm * (this.host.now() - this.#since) / MINUTE_MS;
  }
}
