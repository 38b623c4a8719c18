import { type Model, model } from "../resources/models.ts";
import { textOf } from "../rpc/errors.ts";

const MOTOR = "rdk:component:motor";

/** A base with motors on its left and right: power only, as it knows no distance. */
export const wheeledBase: Model = model("rdk:component:base", "rdk:builtin:wheeled", (context) => {
  const { attributes } = context;
  const side = (name: string) => {
    const names = attributes.texts(name);
    if (names.length === 0) throw new Error(`attributes.${name} names no motor`);
    return names.map((one) => ({ name: one, driver: context.resource(MOTOR, one) }));
  };
  const [left, right] = [side("left"), side("right")];
  const widthMm = attributes.number("width_mm", { min: 1 });
  const circumferenceMm = attributes.number("wheel_circumference_mm", { min: 1 });
  let moving = false;
  const set = (powerLeft: number, powerRight: number) => {
    moving = powerLeft !== 0 || powerRight !== 0;
    for (const [motors, powerPct] of [[left, powerLeft], [right, powerRight]] as const) {
      for (const { name, driver } of motors) driver.setPower?.({ name, powerPct });
    }
    return {};
  };
  const halt = () => {
    try {
      set(0, 0);
    } catch (error) {
      context.log("error", `does not stop: ${textOf(error)}`);
      throw error;
    }
  };
  return {
    setPower({ linear, angular }) {
      const [forward, turn] = [linear?.y ?? 0, angular?.z ?? 0];
      // The larger of both sides gets full power at most, so that a curve stays the same curve.
      const most = Math.max(1, Math.abs(forward - turn), Math.abs(forward + turn));
      return set((forward - turn) / most, (forward + turn) / most);
    },
    stop: () => set(0, 0),
    halt,
    close: halt,
    isMoving: () => ({ isMoving: moving }),
    getProperties: () => ({
      widthMeters: widthMm / 1000,
      turningRadiusMeters: 0,
      wheelCircumferenceMeters: circumferenceMm / 1000,
    }),
  };
});
