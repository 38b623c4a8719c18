import type { DescService } from "@bufbuild/protobuf";

/** Services of machines too small to describe their own, each loaded when it is wanted. */
const KNOWN: Readonly<Record<string, () => Promise<object>>> = {
  "viam.component.base.v1.BaseService": () =>
    import("../../shared/gen/viam/component/base/v1/base_pb.ts"),
  "viam.component.board.v1.BoardService": () =>
    import("../../shared/gen/viam/component/board/v1/board_pb.ts"),
  "viam.component.encoder.v1.EncoderService": () =>
    import("../../shared/gen/viam/component/encoder/v1/encoder_pb.ts"),
  "viam.component.generic.v1.GenericService": () =>
    import("../../shared/gen/viam/component/generic/v1/generic_pb.ts"),
  "viam.component.motor.v1.MotorService": () =>
    import("../../shared/gen/viam/component/motor/v1/motor_pb.ts"),
  "viam.component.movementsensor.v1.MovementSensorService": () =>
    import("../../shared/gen/viam/component/movementsensor/v1/movementsensor_pb.ts"),
  "viam.component.powersensor.v1.PowerSensorService": () =>
    import("../../shared/gen/viam/component/powersensor/v1/powersensor_pb.ts"),
  "viam.component.sensor.v1.SensorService": () =>
    import("../../shared/gen/viam/component/sensor/v1/sensor_pb.ts"),
  "viam.component.servo.v1.ServoService": () =>
    import("../../shared/gen/viam/component/servo/v1/servo_pb.ts"),
  "viam.component.switch.v1.SwitchService": () =>
    import("../../shared/gen/viam/component/switch/v1/switch_pb.ts"),
};

/** A service by its full name, as this program has it; undefined: it has none. */
export async function knownService(name: string): Promise<DescService | undefined> {
  const load = Object.hasOwn(KNOWN, name) ? KNOWN[name] : undefined;
  const exported: Record<string, unknown> = { ...await load?.() };
  return exported[name.slice(name.lastIndexOf(".") + 1)] as DescService | undefined;
}
