import assert from "node:assert/strict";
import { isListed, isMachineWide, listedMethods, machineRight } from "./machine_methods.ts";
import { roleAllows } from "./roles.ts";

Deno.test("machineRight() keeps what ends or opens a machine for owners", () => {
  const robot = "viam.robot.v1.RobotService";
  for (
    const method of ["Shutdown", "RestartModule", "Tunnel", "ListTunnels", "UploadDataFromPath"]
  ) assert.equal(machineRight(robot, method), "manage", method);
  for (const method of ["Shell", "CopyFilesToMachine", "CopyFilesFromMachine", "DoCommand"]) {
    assert.equal(machineRight("viam.service.shell.v1.ShellService", method), "manage", method);
  }
  assert.equal(machineRight(robot, "StopAll"), "operate");
});

Deno.test("machineRight() is `manage` for what the table forgot, `operate` for resources", () => {
  assert.equal(machineRight("viam.robot.v1.RobotService", "BrandNew"), "manage");
  assert.equal(machineRight("viam.robot.v2.RobotService", "Shutdown"), "manage");
  assert.equal(machineRight("viam.service.shell.v1.ShellService", "BrandNew"), "manage");
  assert.equal(machineRight("machine.cloud.v1.Anything", "At"), "manage");
  assert.equal(machineRight("viam.robot.v1.RobotService", "constructor"), "manage");
  assert.equal(machineRight("acme.component.gizmo.v1.GizmoService", "DoOne"), "operate");
  assert.equal(machineRight("viam.component.arm.v1.ArmService", "BrandNew"), "operate");
});

Deno.test("the table names each of its methods once, as what it is", () => {
  const methods = listedMethods();
  assert.equal(new Set(methods).size, methods.length);
  for (const path of methods) {
    const [, service = "", method = ""] = path.split("/");
    assert.ok(isListed(service, method), path);
    assert.equal(isMachineWide(service), !service.startsWith("viam.service."), path);
  }
});

Deno.test("roleAllows() gives operators the use of machines and nothing more", () => {
  const actions = ["see", "operate", "manage", "report"] as const;
  const allowed = (role: "owner" | "operator" | "self") =>
    actions.filter((action) => roleAllows(role, action));
  assert.deepEqual(allowed("owner"), [...actions]);
  assert.deepEqual(allowed("operator"), ["see", "operate"]);
  assert.deepEqual(allowed("self"), ["see", "operate", "report"]);
});
