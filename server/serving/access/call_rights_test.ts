import { Code, ConnectError, createContextValues } from "@connectrpc/connect";
import type { DescMethod, DescService } from "@bufbuild/protobuf";
import assert from "node:assert/strict";
import type { Identity } from "../../../shared/cloud/auth/identity.ts";
import { SensorService } from "../../../shared/gen/viam/component/sensor/v1/sensor_pb.ts";
import { RobotService } from "../../../shared/gen/viam/robot/v1/robot_pb.ts";
import type { Role } from "../../../shared/rights/roles.ts";
import { mustBeAllowed, resourceCheckKey } from "./call_rights.ts";
import { userPermissions } from "./user_permissions.ts";

const permissions = userPermissions({
  user_permissions: [{
    user: { type: "api-key", id: "restricted" },
    permissions: [
      { resources: ["s"], allowed_methods: ["GetReadings"] },
      { allowed_methods: ["StopAll"] },
    ],
  }],
});
const Sensor = SensorService.method;
const Robot = RobotService.method;

/** Whether a caller may make a call; `on`: the resource that it names. */
function isAllowed(entity: string, method: DescMethod, { role = "owner", on }: Asked = {}) {
  const service: DescService = method.parent;
  const values = createContextValues();
  const path = `/${service.typeName}/${method.name}`;
  const identity: Identity = { entity, credentialType: "api-key", claims: {} };
  try {
    mustBeAllowed({ path, service, method, values }, identity, role, permissions);
    if (on) values.get(resourceCheckKey)?.(on, `rdk:component:sensor/${on}`);
    return true;
  } catch (error) {
    assert.equal(ConnectError.from(error).code, Code.PermissionDenied);
    return false;
  }
}

interface Asked {
  readonly role?: Role;
  readonly on?: string;
}

Deno.test("mustBeAllowed() holds a caller to the resources and methods that are permitted", () => {
  assert.ok(isAllowed("restricted", Sensor.getReadings, { on: "s" }));
  assert.ok(!isAllowed("restricted", Sensor.getReadings, { on: "other" }));
  assert.ok(!isAllowed("restricted", Sensor.doCommand, { on: "s" }));
  assert.ok(isAllowed("somebody", Sensor.doCommand, { on: "other" }));
});

Deno.test("mustBeAllowed() holds a caller to the calls to the machine that are permitted", () => {
  assert.ok(isAllowed("restricted", Robot.stopAll));
  for (const method of [Robot.shutdown, Robot.getSessions, Robot.tunnel]) {
    assert.ok(!isAllowed("restricted", method), method.name);
    assert.ok(isAllowed("somebody", method), method.name);
  }
  assert.ok(isAllowed("restricted", Robot.resourceNames), "what connecting needs");
});

Deno.test("mustBeAllowed() gives nobody by a permission what the role has not", () => {
  for (const entity of ["restricted", "somebody"]) {
    assert.ok(!isAllowed(entity, Robot.shutdown, { role: "operator" }));
  }
});
