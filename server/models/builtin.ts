/** The models that come with the server. */
import type { Clock } from "../../shared/time/clock.ts";
import { ModelRegistry } from "../resources/registry.ts";
import { fakeGenericModel, fakeSensorModel } from "./fake/fake.ts";
import { hostSensorModel } from "./host/host_sensor.ts";

/** What the built-in models need from outside. */
export interface BuiltinEnvironment {
  clock: Clock;
}

/** A registry with every built-in model. */
export function builtinModels(environment: BuiltinEnvironment): ModelRegistry {
  return new ModelRegistry()
    .register(hostSensorModel(environment))
    .register(fakeSensorModel)
    .register(fakeGenericModel("rdk:component:generic"))
    .register(fakeGenericModel("rdk:service:generic"));
}
