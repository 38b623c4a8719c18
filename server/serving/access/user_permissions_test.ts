import assert from "node:assert/strict";
import { permissionsOf, permits, userPermissions } from "./user_permissions.ts";

const READ = "/viam.component.sensor.v1.SensorService/GetReadings";
const sensor = (name: string, path = READ) => ({
  path,
  resource: name,
  fullName: `rdk:component:sensor/${name}`,
});
const machine = (method: string) => ({
  path: `/viam.robot.v1.RobotService/${method}`,
  resource: undefined,
  fullName: undefined,
});

function entries(permissions: { resources?: string[]; allowed_methods?: string[] }[]) {
  return userPermissions({ user_permissions: [{ user: { id: "k" }, permissions }] });
}

Deno.test("permits() compares names of resources, short and full", () => {
  for (const name of ["s", "rdk:component:sensor/s", "*"]) {
    assert.equal(permits(entries([{ resources: [name] }]), sensor("s")), true, name);
  }
  for (const name of ["S", "rdk:component:camera/s", "", "rdk:component:sensor/t"]) {
    assert.equal(permits(entries([{ resources: [name] }]), sensor("s")), false, name);
  }
});

Deno.test("permits() compares names of methods, with and without their service", () => {
  for (const name of ["GetReadings", READ, READ.slice(1), "*"]) {
    assert.equal(permits(entries([{ allowed_methods: [name] }]), sensor("s")), true, name);
  }
  for (const name of ["getReadings", "DoCommand", "", "x/GetReadings"]) {
    assert.equal(permits(entries([{ allowed_methods: [name] }]), sensor("s")), false, name);
  }
});

Deno.test("permits() allows calls to the machine only where no resource is named", () => {
  const stop = entries([{ allowed_methods: ["StopAll"] }, { resources: ["s"] }]);
  assert.equal(permits(stop, machine("StopAll")), true);
  assert.equal(permits(stop, machine("GetSessions")), false);
  assert.equal(permits(entries([]), machine("StopAll")), false);
});

Deno.test("permissionsOf() finds the entries about a caller", () => {
  const all = userPermissions({
    user_permissions: [
      { user: { type: "api-key", id: "k" } },
      { user: { id: "k" } },
      { user: { type: "robot-secret" } },
      {},
    ],
  });
  const about = (credentialType: "api-key" | "robot-secret", entity: string) =>
    permissionsOf(all, { credentialType, entity, claims: {} }).map((entry) => all.indexOf(entry));
  assert.deepEqual(about("api-key", "k"), [0, 1, 3]);
  assert.deepEqual(about("robot-secret", "p"), [2, 3]);
  assert.deepEqual(about("api-key", "l"), [3]);
});
