import type { Adc, Gpio, Host, I2c, Pwm } from "../host/host.ts";
import { type Model, model } from "../resources/models.ts";
import { RpcError } from "../rpc/errors.ts";

/** What the device has of a kind. @throws Error where it has none */
export function pinsOf(host: Host): {
  readonly gpio: () => Gpio;
  readonly i2c: () => I2c;
  readonly adc: () => Adc;
  readonly pwm: () => Pwm;
} {
  const need = <T>(part: T | undefined, name: string) => (): T => {
    if (part === undefined) throw new Error(`this device has no ${name}`);
    return part;
  };
  return {
    gpio: need(host.gpio, "GPIO pins"),
    i2c: need(host.i2c, "I2C bus"),
    adc: need(host.adc, "analogue inputs"),
    pwm: need(host.pwm, "PWM pins"),
  };
}

const GPIO = "rdk:builtin:gpio";
const MOTOR_HZ = 20_000;
const SERVO_HZ = 50;

/** Models of what hangs directly on pins. */
export const pinModels: readonly Model[] = [
  model("rdk:component:board", "rdk:builtin:board", ({ attributes, host }) => {
    const { gpio, adc, pwm } = pinsOf(host);
    const analogs = new Map(
      attributes.groups("analogs").map((one) => [one.text("name"), one.text("pin")]),
    );
    const counts = new Map<string, number>();
    const watches = attributes.groups("digital_interrupts").map((one) => {
      const [name, pin] = [one.text("name"), one.text("pin")];
      counts.set(name, 0);
      gpio().mode(pin, "in");
      return gpio().watch(pin, () => void counts.set(name, (counts.get(name) ?? 0) + 1));
    });
    const modes = new Map<string, "in" | "out">();
    const inMode = (pin: string, mode: "in" | "out") => {
      if (modes.get(pin) !== mode) gpio().mode(pin, mode);
      modes.set(pin, mode);
    };
    const waves = new Map<string, { duty: number; hz: number }>();
    const wave = (pin: string, change: { duty?: number; hz?: number }) => {
      const next = { duty: 0, hz: 1_000, ...waves.get(pin), ...change };
      pwm().set(pin, next.hz, next.duty);
      waves.set(pin, next);
      return {};
    };
    return {
      setGPIO({ pin, high }) {
        inMode(pin, "out");
        gpio().write(pin, high);
        return {};
      },
      getGPIO({ pin }) {
        if (!modes.has(pin)) inMode(pin, "in");
        return { high: gpio().read(pin) };
      },
      setPWM: ({ pin, dutyCyclePct }) => wave(pin, { duty: dutyCyclePct }),
      pWM: ({ pin }) => ({ dutyCyclePct: waves.get(pin)?.duty ?? 0 }),
      setPWMFrequency: ({ pin, frequencyHz }) => wave(pin, { hz: frequencyHz }),
      pWMFrequency: ({ pin }) => ({ frequencyHz: waves.get(pin)?.hz ?? 0 }),
      readAnalogReader({ analogReaderName: name }) {
        const pin = analogs.get(name);
        if (pin === undefined) {
          throw new RpcError("not_found", `there is no analogue reader ${name}; add it to analogs`);
        }
        const { value, min, max, stepSize } = adc().read(pin);
        return { value, minRange: min, maxRange: max, stepSize };
      },
      getDigitalInterruptValue({ digitalInterruptName: name }) {
        const value = counts.get(name);
        if (value === undefined) throw new RpcError("not_found", `there is no interrupt ${name}`);
        return { value };
      },
      close: () => watches.forEach((watch) => watch.close()),
    };
  }),

  model("rdk:component:motor", GPIO, ({ attributes, host }) => {
    const { gpio, pwm } = pinsOf(host);
    const pins = attributes.group("pins");
    const [a, b] = [pins.text("a"), pins.text("b")];
    const speed = pins.text("pwm");
    const hz = attributes.number("pwm_freq", { min: 1, max: 100_000, default: MOTOR_HZ });
    const maxRpm = attributes.number("max_rpm", { min: 0, default: 0 });
    for (const pin of [a, b]) gpio().mode(pin, "out");
    let power = 0;
    const set = (wanted: number) => {
      power = Math.max(-1, Math.min(1, wanted));
      gpio().write(a, power > 0);
      gpio().write(b, power < 0);
      pwm().set(speed, hz, Math.abs(power));
      return {};
    };
    set(0);
    return {
      setPower: ({ powerPct }) => set(powerPct),
      setRPM({ rpm }) {
        if (maxRpm === 0) throw new RpcError("failed_precondition", "the motor has no max_rpm");
        return set(rpm / maxRpm);
      },
      isPowered: () => ({ isOn: power !== 0, powerPct: power }),
      isMoving: () => ({ isMoving: power !== 0 }),
      getProperties: () => ({ positionReporting: false }),
      stop: () => set(0),
      halt: () => void set(0),
      close: () => void set(0),
      getStatus: () => ({ result: { is_powered: power !== 0, power_pct: power } }),
    };
  }),

  model("rdk:component:servo", GPIO, ({ attributes, host }) => {
    const { pwm } = pinsOf(host);
    const pin = attributes.text("pin");
    const [min, max] = [
      attributes.number("min_width_us", { min: 100, max: 3_000, default: 500 }),
      attributes.number("max_width_us", { min: 100, max: 3_000, default: 2_500 }),
    ];
    if (min >= max) throw new Error("attributes.min_width_us must be less than max_width_us");
    let position = 0;
    return {
      move({ angleDeg }) {
        if (angleDeg > 180) {
          throw new RpcError(
            "invalid_argument",
            `angle_deg is ${angleDeg}; a servo turns 0 to 180`,
          );
        }
        const widthUs = min + (max - min) * angleDeg / 180;
        pwm().set(pin, SERVO_HZ, widthUs * SERVO_HZ / 1e6);
        position = angleDeg;
        return {};
      },
      getPosition: () => ({ positionDeg: position }),
      isMoving: () => ({ isMoving: false }),
      stop: () => (pwm().set(pin, SERVO_HZ, 0), {}),
      halt: () => pwm().set(pin, SERVO_HZ, 0),
      close: () => pwm().set(pin, SERVO_HZ, 0),
    };
  }),

  model("rdk:component:encoder", "rdk:builtin:incremental", ({ attributes, host }) => {
    const { gpio } = pinsOf(host);
    const pins = attributes.group("pins");
    const [a, b] = [pins.text("a"), pins.text("b")];
    for (const pin of [a, b]) gpio().mode(pin, "in-pull-up");
    let ticks = 0;
    // The level of the other channel at an edge says which way it turns.
    const watches = [
      gpio().watch(a, (high) => void (ticks += high === gpio().read(b) ? -1 : 1)),
      gpio().watch(b, (high) => void (ticks += high === gpio().read(a) ? 1 : -1)),
    ];
    return {
      getPosition({ positionType }) {
        if (positionType === 2) {
          throw new RpcError("invalid_argument", "this encoder counts ticks and knows no degrees");
        }
        return { value: ticks, positionType: 1 };
      },
      resetPosition() {
        ticks = 0;
        return {};
      },
      getProperties: () => ({ ticksCountSupported: true, angleDegreesSupported: false }),
      close: () => watches.forEach((watch) => watch.close()),
    };
  }),

  model("rdk:component:switch", GPIO, ({ attributes, host }) => {
    const { gpio } = pinsOf(host);
    const pin = attributes.text("pin");
    const labels = attributes.texts("labels");
    gpio().mode(pin, "out");
    gpio().write(pin, false);
    let position = 0;
    return {
      setPosition(request) {
        if (request.position > 1) {
          throw new RpcError("invalid_argument", "the switch has the positions 0 and 1");
        }
        position = request.position;
        gpio().write(pin, position === 1);
        return {};
      },
      getPosition: () => ({ position }),
      getNumberOfPositions: () => ({ numberOfPositions: 2, labels }),
    };
  }),

  model("rdk:component:sensor", "rdk:builtin:analog", ({ attributes, host }) => {
    const { adc } = pinsOf(host);
    const pin = attributes.text("pin");
    const key = attributes.text("key", "value");
    const scale = attributes.number("scale", { default: 1 });
    const offset = attributes.number("offset", { default: 0 });
    return {
      getReadings() {
        const { value, min, stepSize } = adc().read(pin);
        const volts = min + value * stepSize;
        return { readings: { [key]: volts * scale + offset, volts } };
      },
    };
  }),

  model("rdk:component:sensor", "rdk:builtin:host", ({ host }) => ({
    getReadings() {
      const { used, limit } = host.memory();
      const uptime = Math.floor(host.now() / 1000);
      return { readings: { memory_used: used, memory_limit: limit, uptime_seconds: uptime } };
    },
  })),
];
