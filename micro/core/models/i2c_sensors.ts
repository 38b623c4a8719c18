import { type Model, model, type ModelContext } from "../resources/models.ts";
import { pinsOf } from "./pins.ts";

/** A device on a bus: reads and writes of its registers. */
function registers({ attributes, host }: ModelContext, address: number) {
  const bus = attributes.text("i2c_bus", "0");
  const at = attributes.number("i2c_address", { min: 8, max: 119, default: address });
  const i2c = pinsOf(host).i2c();
  const none = new Uint8Array(0);
  return {
    write: (register: number, ...bytes: number[]) =>
      void i2c.transfer(bus, at, Uint8Array.of(register, ...bytes), 0),
    read: (register: number, length: number) => {
      const bytes = i2c.transfer(bus, at, Uint8Array.of(register), length) ?? none;
      if (bytes.length !== length) throw new Error(`the device at ${at} sent too little`);
      return new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    },
  };
}

/** Registers of the INA219 (Texas Instruments SBOS448): big-endian words. */
const INA219 = { configuration: 0, bus: 2, power: 3, current: 4, calibration: 5 } as const;
/** 32 V, 320 mV over the shunt, 12 bit, continuous. */
const INA219_SETTINGS = 0x399f;
/** Registers of the MPU-6050 (InvenSense RM-MPU-6000A). */
const MPU6050 = { power: 0x6b, acceleration: 0x3b, whoAmI: 0x75 } as const;
/** Steps for 1 g and for 1 °/s in the ranges that it starts with. */
const STEPS_PER_G = 16_384;
const STEPS_PER_DEGREE = 131;
const GRAVITY = 9.80665;

/** Sensors on an I2C bus. */
export const i2cSensors: readonly Model[] = [
  model("rdk:component:power_sensor", "rdk:builtin:ina219", (context) => {
    const device = registers(context, 0x40);
    const shunt = context.attributes.number("shunt_resistance", { min: 0.0001, default: 0.1 });
    const most = context.attributes.number("max_current_amps", { min: 0.001, default: 3.2 });
    const ampsPerStep = most / 32_768;
    // SBOS448, equation 1.
    const calibration = Math.min(0xfffe, Math.trunc(0.04096 / (ampsPerStep * shunt)));
    const word = (value: number): [number, number] => [value >> 8, value & 255];
    device.write(INA219.configuration, ...word(INA219_SETTINGS));
    device.write(INA219.calibration, ...word(calibration));
    return {
      getVoltage: () => ({ volts: (device.read(INA219.bus, 2).getUint16(0) >> 3) * 0.004 }),
      getCurrent: () => ({ amperes: device.read(INA219.current, 2).getInt16(0) * ampsPerStep }),
      getPower: () => ({ watts: device.read(INA219.power, 2).getUint16(0) * 20 * ampsPerStep }),
    };
  }),

  model("rdk:component:movement_sensor", "rdk:builtin:mpu6050", (context) => {
    const device = registers(context, 0x68);
    const found = device.read(MPU6050.whoAmI, 1).getUint8(0);
    if (found !== 0x68) throw new Error(`there is no MPU-6050, but something that says ${found}`);
    device.write(MPU6050.power, 0);
    const vector = (view: DataView, at: number, unit: number) => ({
      x: view.getInt16(at) * unit,
      y: view.getInt16(at + 2) * unit,
      z: view.getInt16(at + 4) * unit,
    });
    // Acceleration, temperature and rotation stand one after the other.
    const read = () => device.read(MPU6050.acceleration, 14);
    return {
      getLinearAcceleration: () => ({
        linearAcceleration: vector(read(), 0, GRAVITY / STEPS_PER_G),
      }),
      getAngularVelocity: () => ({ angularVelocity: vector(read(), 8, 1 / STEPS_PER_DEGREE) }),
      getProperties: () => ({ linearAccelerationSupported: true, angularVelocitySupported: true }),
      close: () => device.write(MPU6050.power, 0x40),
    };
  }),
];
