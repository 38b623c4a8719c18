import assert from "node:assert/strict";
import { isMachineWide, LISTED_RIGHTS, machineRight, type MethodRight } from "./machine_methods.ts";
import { roleAllows } from "./roles.ts";

/** Methods of the table that need a right, without packages. */
function needing(right: MethodRight): string[] {
  return Object.entries(LISTED_RIGHTS).flatMap(([service, methods]) =>
    Object.keys(methods).filter((method) => machineRight(service, method) === right)
      .map((method) => `${service.split(".").at(-1)}/${method}`)
  ).sort();
}

Deno.test("what needs no sign-in, what sees only and what owners may is just this", () => {
  assert.deepEqual(needing("open"), [
    ...["AuthService/Authenticate", "Health/Check", "Health/List", "Health/Watch"],
  ]);
  assert.deepEqual(needing("see"), [
    ...["RobotService/GetCloudMetadata", "RobotService/GetMachineStatus"],
    ...["RobotService/GetOperations", "RobotService/GetVersion", "RobotService/ResourceNames"],
    ...["RobotService/ResourceRPCSubtypes", "RobotService/SendSessionHeartbeat"],
    ...["RobotService/StartSession", "ServerReflection/ServerReflectionInfo"],
    ...["ServerReflection/ServerReflectionInfo", "SignalingService/Call"],
    ...["SignalingService/CallUpdate", "SignalingService/OptionalWebRTCConfig"],
    ...["SignalingService/ReportConnectionMetadata", "StreamService/ListStreams"],
  ]);
  assert.deepEqual(needing("manage"), [
    ...["RobotService/ListTunnels", "RobotService/RestartModule", "RobotService/Shutdown"],
    ...["RobotService/Tunnel", "RobotService/UploadDataFromPath"],
    ...["ShellService/CopyFilesFromMachine", "ShellService/CopyFilesToMachine"],
    ...["ShellService/DoCommand", "ShellService/Shell", "SignalingService/Answer"],
  ]);
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

Deno.test("services in the table are about the machine, but for those of resources", () => {
  for (const service of Object.keys(LISTED_RIGHTS)) {
    assert.equal(isMachineWide(service), !service.startsWith("viam.service."), service);
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
