/** The services behind each API, loaded when somebody uses one. */
import type { DescService } from "@bufbuild/protobuf";
import { createClient, type Transport } from "@connectrpc/connect";
import { RobotService } from "../../../../shared/gen/viam/robot/v1/robot_pb.ts";

/** A machine describes a service within this time. */
const LEARN_MS = 30_000;

type Load = () => Promise<DescService>;

/** By API. */
export const SERVICES: Readonly<Record<string, Load>> = {
  "rdk:component:arm": async () =>
    (await import("../../../../shared/gen/viam/component/arm/v1/arm_pb.ts")).ArmService,
  "rdk:component:audio_in": async () =>
    (await import("../../../../shared/gen/viam/component/audioin/v1/audioin_pb.ts")).AudioInService,
  "rdk:component:audio_out": async () =>
    (await import("../../../../shared/gen/viam/component/audioout/v1/audioout_pb.ts"))
      .AudioOutService,
  "rdk:component:base": async () =>
    (await import("../../../../shared/gen/viam/component/base/v1/base_pb.ts")).BaseService,
  "rdk:component:board": async () =>
    (await import("../../../../shared/gen/viam/component/board/v1/board_pb.ts")).BoardService,
  "rdk:component:button": async () =>
    (await import("../../../../shared/gen/viam/component/button/v1/button_pb.ts")).ButtonService,
  "rdk:component:camera": async () =>
    (await import("../../../../shared/gen/viam/component/camera/v1/camera_pb.ts")).CameraService,
  "rdk:component:encoder": async () =>
    (await import("../../../../shared/gen/viam/component/encoder/v1/encoder_pb.ts")).EncoderService,
  "rdk:component:gantry": async () =>
    (await import("../../../../shared/gen/viam/component/gantry/v1/gantry_pb.ts")).GantryService,
  "rdk:component:generic": async () =>
    (await import("../../../../shared/gen/viam/component/generic/v1/generic_pb.ts")).GenericService,
  "rdk:component:gripper": async () =>
    (await import("../../../../shared/gen/viam/component/gripper/v1/gripper_pb.ts")).GripperService,
  "rdk:component:input_controller": async () =>
    (await import(
      "../../../../shared/gen/viam/component/inputcontroller/v1/input_controller_pb.ts"
    )).InputControllerService,
  "rdk:component:motor": async () =>
    (await import("../../../../shared/gen/viam/component/motor/v1/motor_pb.ts")).MotorService,
  "rdk:component:movement_sensor": async () =>
    (await import("../../../../shared/gen/viam/component/movementsensor/v1/movementsensor_pb.ts"))
      .MovementSensorService,
  "rdk:component:pose_tracker": async () =>
    (await import("../../../../shared/gen/viam/component/posetracker/v1/pose_tracker_pb.ts"))
      .PoseTrackerService,
  "rdk:component:power_sensor": async () =>
    (await import("../../../../shared/gen/viam/component/powersensor/v1/powersensor_pb.ts"))
      .PowerSensorService,
  "rdk:component:sensor": async () =>
    (await import("../../../../shared/gen/viam/component/sensor/v1/sensor_pb.ts")).SensorService,
  "rdk:component:servo": async () =>
    (await import("../../../../shared/gen/viam/component/servo/v1/servo_pb.ts")).ServoService,
  "rdk:component:switch": async () =>
    (await import("../../../../shared/gen/viam/component/switch/v1/switch_pb.ts")).SwitchService,
  "rdk:service:data_manager": async () =>
    (await import("../../../../shared/gen/viam/service/datamanager/v1/data_manager_pb.ts"))
      .DataManagerService,
  "rdk:service:discovery": async () =>
    (await import("../../../../shared/gen/viam/service/discovery/v1/discovery_pb.ts"))
      .DiscoveryService,
  "rdk:service:generic": async () =>
    (await import("../../../../shared/gen/viam/service/generic/v1/generic_pb.ts")).GenericService,
  "rdk:service:mlmodel": async () =>
    (await import("../../../../shared/gen/viam/service/mlmodel/v1/mlmodel_pb.ts")).MLModelService,
  "rdk:service:motion": async () =>
    (await import("../../../../shared/gen/viam/service/motion/v1/motion_pb.ts")).MotionService,
  "rdk:service:navigation": async () =>
    (await import("../../../../shared/gen/viam/service/navigation/v1/navigation_pb.ts"))
      .NavigationService,
  "rdk:service:sensors": async () =>
    (await import("../../../../shared/gen/viam/service/sensors/v1/sensors_pb.ts")).SensorsService,
  "rdk:service:shell": async () =>
    (await import("../../../../shared/gen/viam/service/shell/v1/shell_pb.ts")).ShellService,
  "rdk:service:slam": async () =>
    (await import("../../../../shared/gen/viam/service/slam/v1/slam_pb.ts")).SLAMService,
  "rdk:service:video": async () =>
    (await import("../../../../shared/gen/viam/service/video/v1/video_pb.ts")).VideoService,
  "rdk:service:vision": async () =>
    (await import("../../../../shared/gen/viam/service/vision/v1/vision_pb.ts")).VisionService,
  "rdk:service:world_state_store": async () =>
    (await import("../../../../shared/gen/viam/service/worldstatestore/v1/world_state_store_pb.ts"))
      .WorldStateStoreService,
};

/** The service of an API; undefined when this console does not know it. */
export async function knownService(api: string): Promise<DescService | undefined> {
  return Object.hasOwn(SERVICES, api) ? await SERVICES[api]?.() : undefined;
}

/**
 * The service of an API. One that only a module or a remote of the machine brought is learned from
 * the machine; undefined when the machine does not serve it either.
 *
 * @param transport what leads to the machine; read only when the API has to be learned
 */
export async function serviceOf(
  api: string,
  transport: () => Transport,
): Promise<DescService | undefined> {
  if (Object.hasOwn(SERVICES, api)) return await knownService(api);
  return await learnedService(api, transport());
}

async function learnedService(
  api: string,
  transport: Transport,
): Promise<DescService | undefined> {
  const signal = AbortSignal.timeout(LEARN_MS);
  const robot = createClient(RobotService, transport);
  const { resourceRpcSubtypes } = await robot.resourceRPCSubtypes({}, { signal });
  const served = resourceRpcSubtypes.find(({ subtype: name }) =>
    api === `${name?.namespace}:${name?.type}:${name?.subtype}`
  );
  if (!served) return undefined;
  const { learnService } = await import("../../../../shared/rpc/client/reflection_client.ts");
  return await learnService(transport, served.protoService, { signal });
}
