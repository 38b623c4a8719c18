/** Every resource API that the server serves. */
import { ArmService } from "../../../shared/gen/viam/component/arm/v1/arm_pb.ts";
import { AudioInService } from "../../../shared/gen/viam/component/audioin/v1/audioin_pb.ts";
import { AudioOutService } from "../../../shared/gen/viam/component/audioout/v1/audioout_pb.ts";
import { BaseService } from "../../../shared/gen/viam/component/base/v1/base_pb.ts";
import { BoardService } from "../../../shared/gen/viam/component/board/v1/board_pb.ts";
import { ButtonService } from "../../../shared/gen/viam/component/button/v1/button_pb.ts";
import { CameraService } from "../../../shared/gen/viam/component/camera/v1/camera_pb.ts";
import { EncoderService } from "../../../shared/gen/viam/component/encoder/v1/encoder_pb.ts";
import { GantryService } from "../../../shared/gen/viam/component/gantry/v1/gantry_pb.ts";
import { GenericService } from "../../../shared/gen/viam/component/generic/v1/generic_pb.ts";
import { GripperService } from "../../../shared/gen/viam/component/gripper/v1/gripper_pb.ts";
import { InputControllerService } from "../../../shared/gen/viam/component/inputcontroller/v1/input_controller_pb.ts";
import { MotorService } from "../../../shared/gen/viam/component/motor/v1/motor_pb.ts";
import { MovementSensorService } from "../../../shared/gen/viam/component/movementsensor/v1/movementsensor_pb.ts";
import { PoseTrackerService } from "../../../shared/gen/viam/component/posetracker/v1/pose_tracker_pb.ts";
import { PowerSensorService } from "../../../shared/gen/viam/component/powersensor/v1/powersensor_pb.ts";
import { SensorService } from "../../../shared/gen/viam/component/sensor/v1/sensor_pb.ts";
import { ServoService } from "../../../shared/gen/viam/component/servo/v1/servo_pb.ts";
import { SwitchService } from "../../../shared/gen/viam/component/switch/v1/switch_pb.ts";
import { DataManagerService } from "../../../shared/gen/viam/service/datamanager/v1/data_manager_pb.ts";
import { DiscoveryService } from "../../../shared/gen/viam/service/discovery/v1/discovery_pb.ts";
import { GenericService as GenericServiceService } from "../../../shared/gen/viam/service/generic/v1/generic_pb.ts";
import { MLModelService } from "../../../shared/gen/viam/service/mlmodel/v1/mlmodel_pb.ts";
import { MotionService } from "../../../shared/gen/viam/service/motion/v1/motion_pb.ts";
import { NavigationService } from "../../../shared/gen/viam/service/navigation/v1/navigation_pb.ts";
import { SensorsService } from "../../../shared/gen/viam/service/sensors/v1/sensors_pb.ts";
import { ShellService } from "../../../shared/gen/viam/service/shell/v1/shell_pb.ts";
import { SLAMService } from "../../../shared/gen/viam/service/slam/v1/slam_pb.ts";
import { VideoService } from "../../../shared/gen/viam/service/video/v1/video_pb.ts";
import { VisionService } from "../../../shared/gen/viam/service/vision/v1/vision_pb.ts";
import { WorldStateStoreService } from "../../../shared/gen/viam/service/worldstatestore/v1/world_state_store_pb.ts";
import { getReadingsMethod } from "./get_readings.ts";
import { sensorsMethods } from "./sensors.ts";
import { type ServedApi, servedApi } from "./served_api.ts";

export const servedApis: readonly ServedApi[] = [
  servedApi("rdk:component:arm", ArmService),
  servedApi("rdk:component:audio_in", AudioInService),
  servedApi("rdk:component:audio_out", AudioOutService),
  servedApi("rdk:component:base", BaseService),
  servedApi("rdk:component:board", BoardService),
  servedApi("rdk:component:button", ButtonService),
  servedApi("rdk:component:camera", CameraService),
  servedApi("rdk:component:encoder", EncoderService),
  servedApi("rdk:component:gantry", GantryService),
  servedApi("rdk:component:generic", GenericService),
  servedApi("rdk:component:gripper", GripperService),
  servedApi("rdk:component:input_controller", InputControllerService),
  servedApi("rdk:component:motor", MotorService),
  servedApi("rdk:component:movement_sensor", MovementSensorService, getReadingsMethod),
  servedApi("rdk:component:pose_tracker", PoseTrackerService),
  servedApi("rdk:component:power_sensor", PowerSensorService, getReadingsMethod),
  servedApi("rdk:component:sensor", SensorService, getReadingsMethod),
  servedApi("rdk:component:servo", ServoService),
  servedApi("rdk:component:switch", SwitchService),
  servedApi("rdk:service:data_manager", DataManagerService),
  servedApi("rdk:service:discovery", DiscoveryService),
  servedApi("rdk:service:generic", GenericServiceService),
  servedApi("rdk:service:mlmodel", MLModelService),
  servedApi("rdk:service:motion", MotionService),
  servedApi("rdk:service:navigation", NavigationService),
  servedApi("rdk:service:sensors", SensorsService, sensorsMethods),
  servedApi("rdk:service:shell", ShellService),
  servedApi("rdk:service:slam", SLAMService),
  servedApi("rdk:service:video", VideoService),
  servedApi("rdk:service:vision", VisionService),
  servedApi("rdk:service:world_state_store", WorldStateStoreService),
];
