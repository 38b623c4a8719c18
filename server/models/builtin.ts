/** The models that come with the server. */
import { ModelRegistry } from "../resources/graph/registry.ts";
import {
  sensorControlledBaseModel,
  wheeledBaseModel,
  wheeledOdometryModel,
} from "./base/base_models.ts";
import { linuxBoardModel } from "./board/board_model.ts";
import { simulatedBoardModel } from "./board/simulated_board_model.ts";
import { commandSensorModel } from "./command/command_model.ts";
import { devicesModel } from "./discovery/devices_model.ts";
import { incrementalEncoderModel, singleEncoderModel } from "./encoder/encoder_models.ts";
import { type BuiltinEnvironment, subprocessOf } from "./environment.ts";
import { FAKE_APIS } from "./fake/fake_apis.ts";
import { fakeMotorModel } from "./fake/motor.ts";
import { fakeVisionModel } from "./fake/vision.ts";
import { gpsModel } from "./gps/gps_model.ts";
import { httpCameraModel } from "./http/http_camera_model.ts";
import { httpSensorModel } from "./http/http_sensor_model.ts";
import { imageFileModel } from "./camera/image_file_model.ts";
import { hostSensorModel } from "./host/host_sensor.ts";
import { rtspModel, screenModel, webcamModel } from "./camera/live_models.ts";
import { mlModelModel } from "./ml_model/ml_model_model.ts";
import { gamepadModel, webGamepadModel } from "./input/input_models.ts";
import { mergedModel } from "./merged/merged_model.ts";
import { modbusModel } from "./modbus/modbus_model.ts";
import { motionModel } from "./motion/motion_model.ts";
import { gpioMotorModel, gpioStepperModel } from "./motor/motor_models.ts";
import { navigationModel } from "./navigation/navigation_model.ts";
import { remoteControlModel } from "./remote_control/remote_control_model.ts";
import { gpioServoModel } from "./servo/gpio_servo_model.ts";
import { ImageWorker } from "./image_processing/image_worker.ts";
import { IMAGE_PROCESS } from "./process_names.ts";
import { mqttModel } from "./mqtt/mqtt_model.ts";
import {
  replayCameraModel,
  replayMovementSensorModel,
  replaySensorModel,
} from "./replay/replay_models.ts";
import { roomCameraModel } from "./room/room_model.ts";
import { shellModel } from "./shell/shell_model.ts";
import { transformModel } from "./transform/transform_model.ts";
import { systemModel } from "./system/system_model.ts";
import { sensorsServiceModel } from "./sensors/sensors_service.ts";
import { colourModel } from "./vision/colour_model.ts";
import { modelVisionModel } from "./vision/model_vision_model.ts";
import { segmenterModel } from "./vision/segmenter_model.ts";

/** A registry with every built-in model. */
export function builtinModels(environment: BuiltinEnvironment): ModelRegistry {
  const worker = imageWork(environment);
  return new ModelRegistry()
    .register(mlModelModel(environment))
    .register(modelVisionModel(worker))
    .register(colourModel(worker))
    .register(segmenterModel(worker))
    .register(hostSensorModel(environment))
    .register(commandSensorModel(environment))
    .register(httpSensorModel(environment))
    .register(httpCameraModel(environment))
    .register(imageFileModel)
    .register(roomCameraModel(environment, worker))
    .register(transformModel(worker))
    .register(screenModel(environment))
    .register(webcamModel(environment))
    .register(rtspModel(environment))
    .register(replayCameraModel(environment, "rdk:builtin:replay"))
    .register(replayCameraModel(environment, "rdk:builtin:replay_pcd"))
    .register(replayMovementSensorModel(environment))
    .register(replaySensorModel(environment))
    .register(mergedModel)
    .register(linuxBoardModel(environment))
    .register(simulatedBoardModel(environment))
    .register(gpsModel(environment))
    .register(modbusModel(environment))
    .register(mqttModel(environment))
    .register(gamepadModel(environment))
    .register(webGamepadModel(environment))
    .register(remoteControlModel(environment))
    .register(incrementalEncoderModel(environment))
    .register(singleEncoderModel(environment))
    .register(gpioMotorModel(environment))
    .register(gpioStepperModel(environment))
    .register(gpioServoModel)
    .register(wheeledBaseModel(environment))
    .register(sensorControlledBaseModel(environment))
    .register(wheeledOdometryModel(environment))
    .register(motionModel(environment))
    .register(navigationModel(environment))
    .register(systemModel("rdk:component:generic", environment))
    .register(systemModel("rdk:service:generic", environment))
    .register(devicesModel())
    .register(shellModel(environment, "rdk:builtin:builtin"))
    .register(shellModel(environment, "rdk:builtin:shell"))
    .register(sensorsServiceModel)
    .register(fakeMotorModel(environment))
    .register(fakeVisionModel)
    .registerLater(
      "rdk:builtin:builtin",
      ["rdk:service:data_manager"],
      async () => new ModelRegistry().register(await dataManager(environment)),
    )
    .registerLater(
      "rdk:builtin:fake",
      FAKE_APIS,
      async () => (await import("./fake/fakes.ts")).fakeModels(environment),
    );
}

/** One process of images for all resources. */
function imageWork(environment: BuiltinEnvironment): () => ImageWorker {
  let worker: ImageWorker | undefined;
  return () =>
    worker ??= new ImageWorker({
      clock: environment.clock,
      program: subprocessOf(environment, IMAGE_PROCESS),
    });
}

async function dataManager(environment: BuiltinEnvironment) {
  const { dataManagerModel } = await import("../data/data_manager_model.ts");
  const { MachineSeat } = await import("../data/machine_seat.ts");
  return dataManagerModel({ ...environment, seat: environment.seat ?? new MachineSeat() });
}
