import type { Secret } from "../../../shared/base/redaction/secret.ts";
import type { JsonPath } from "../readings/json_path.ts";
import type { HttpAddress } from "./http_address.ts";

export interface HttpSensorAttributes {
  url: HttpAddress;
  headers: Record<string, Secret> | undefined;
  timeout: number | undefined;
  interval: number | undefined;
  max_age: number | undefined;
  path: JsonPath | undefined;
}

export interface HttpCameraAttributes {
  url: HttpAddress;
  headers: Record<string, Secret> | undefined;
  timeout: number | undefined;
  interval: number | undefined;
}
