/** Models `rdk:builtin:fake`: devices and services that are not there. */
import type { Clock } from "../../../shared/base/time/clock.ts";
import { ModelRegistry } from "../../resources/graph/registry.ts";
import { fakeArmModel } from "./arm.ts";
import { fakeAudioInModel } from "./audio_in.ts";
import { fakeAudioOutModel } from "./audio_out.ts";
import { fakeBaseModel } from "./base.ts";
import { fakeBoardModel } from "./board.ts";
import { fakeButtonModel } from "./button.ts";
import { fakeCameraModel } from "./camera.ts";
import { fakeDiscoveryModel } from "./discovery.ts";
import { fakeEncoderModel } from "./encoder.ts";
import { fakeGantryModel } from "./gantry.ts";
import { fakeGenericModel } from "./generic.ts";
import { fakeGripperModel } from "./gripper.ts";
import { fakeInputControllerModel } from "./input_controller.ts";
import { fakeMovementSensorModel } from "./movement_sensor.ts";
import { fakePoseTrackerModel } from "./pose_tracker.ts";
import { fakePowerSensorModel } from "./power_sensor.ts";
import { fakeSensorModel } from "./sensor.ts";
import { fakeServoModel } from "./servo.ts";
import { fakeSlamModel } from "./slam.ts";
import { fakeSwitchModel } from "./switch.ts";
import { fakeVideoModel } from "./video.ts";
import { fakeWorldStateStoreModel } from "./world_state_store.ts";

/**
 * A fake of every component API, and of the services that can do without the world, but for those
 * that use other resources: motor and vision.
 */
export function fakeModels(environment: { clock: Clock }): ModelRegistry {
  return new ModelRegistry()
    .register(fakeArmModel(environment))
    .register(fakeAudioInModel(environment))
    .register(fakeAudioOutModel)
    .register(fakeBaseModel)
    .register(fakeBoardModel(environment))
    .register(fakeButtonModel)
    .register(fakeCameraModel(environment))
    .register(fakeEncoderModel(environment))
    .register(fakeGantryModel)
    .register(fakeGenericModel("rdk:component:generic"))
    .register(fakeGripperModel)
    .register(fakeInputControllerModel(environment))
    .register(fakeMovementSensorModel)
    .register(fakePoseTrackerModel)
    .register(fakePowerSensorModel)
    .register(fakeSensorModel)
    .register(fakeServoModel)
    .register(fakeSwitchModel)
    .register(fakeDiscoveryModel)
    .register(fakeGenericModel("rdk:service:generic"))
    .register(fakeSlamModel)
    .register(fakeVideoModel)
    .register(fakeWorldStateStoreModel(environment));
}
