/** Every resource API that the server serves. */
import { genericComponentApi } from "./generic_component.ts";
import { genericServiceApi } from "./generic_service.ts";
import { sensorApi } from "./sensor.ts";
import type { ServedApi } from "./served_api.ts";

export const servedApis: readonly ServedApi[] = [sensorApi, genericComponentApi, genericServiceApi];
