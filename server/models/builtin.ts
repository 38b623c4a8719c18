/** The models that come with the server. */
import { ModelRegistry } from "../resources/registry.ts";
import { commandSensorModel } from "./command/command_model.ts";
import type { BuiltinEnvironment } from "./environment.ts";
import { fakeGenericModel, fakeSensorModel } from "./fake/fake.ts";
import { httpCameraModel } from "./http/http_camera_model.ts";
import { httpSensorModel } from "./http/http_sensor_model.ts";
import { imageFileModel } from "./image_file/image_file_model.ts";
import { hostSensorModel } from "./host/host_sensor.ts";

/** A registry with every built-in model. */
export function builtinModels(environment: BuiltinEnvironment): ModelRegistry {
  return new ModelRegistry()
    .register(hostSensorModel(environment))
    .register(commandSensorModel(environment))
    .register(httpSensorModel(environment))
    .register(httpCameraModel(environment))
    .register(imageFileModel)
    .register(fakeSensorModel)
    .register(fakeGenericModel("rdk:component:generic"))
    .register(fakeGenericModel("rdk:service:generic"));
}
