/** The models that come with the server. */
import { ModelRegistry } from "../resources/registry.ts";
import type { BuiltinEnvironment } from "./environment.ts";
import { fakeGenericModel, fakeSensorModel } from "./fake/fake.ts";
import { hostSensorModel } from "./host/host_sensor.ts";

/** A registry with every built-in model. */
export function builtinModels(environment: BuiltinEnvironment): ModelRegistry {
  return new ModelRegistry()
    .register(hostSensorModel(environment))
    .register(fakeSensorModel)
    .register(fakeGenericModel("rdk:component:generic"))
    .register(fakeGenericModel("rdk:service:generic"));
}
