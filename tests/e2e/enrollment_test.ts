import assert from "node:assert/strict";
import { join } from "node:path";
import {
  EnrollmentService,
  EnrollmentState,
} from "../../shared/gen/machine/cloud/v1/enrollment_pb.ts";
import { AppService, OnlineState } from "../../shared/gen/viam/app/v1/app_pb.ts";
import { waitFor } from "../../shared/base/time/wait_for.ts";
import { READY_LINE, Rig } from "./rig.ts";

/** A cloud with a token; devices run the server of the rig on its port. */
async function opened(token: { readonly needsApproval?: boolean } = {}) {
  const rig = await Rig.create();
  const made = await rig.bootstrap({});
  await rig.startCloud();
  const cloud = await rig.cloud();
  const app = cloud.client(AppService);
  const { fragment } = await app.createFragment({
    ...{ name: "base", organizationId: made.org_id, config: rig.defaultConfig() },
  });
  const enrollment = cloud.client(EnrollmentService);
  const answer = await enrollment.createEnrollmentToken({
    ...{ locationId: made.location_id, name: "e2e", namePattern: "kiosk-{n}", ...token },
    template: { fragmentIds: [fragment!.id], tags: ["shop"] },
  });
  const machines = async () => {
    const { robots } = await app.listRobots({ locationId: made.location_id });
    return robots.filter(({ name }) => name !== "bench");
  };
  return { rig, made, app, enrollment, token: answer.token, machines };
}

Deno.test("an agent with a token in its defaults file becomes a machine that comes online", async () => {
  const { rig, token, machines, app } = await opened();
  await using _ = rig;
  await Deno.remove(rig.credentialsFile);
  const defaults = join(rig.dir, "defaults.json");
  await Deno.writeTextFile(
    defaults,
    JSON.stringify({ enrollment: { app_address: rig.cloudUrl, token } }),
  );
  await rig.startAgent(["--defaults", defaults]);
  const [machine, ...others] = await machines();
  assert.deepEqual([machine?.name, others.length], ["kiosk-1", 0]);
  await waitFor(async () => (await machines())[0]?.onlineState === OnlineState.ONLINE, {
    deadlineMs: 60_000,
  });
  const { parts: [part] } = await app.getRobotParts({ robotId: machine!.id });
  assert.deepEqual(part?.robotConfig?.["agent"], { tags: ["shop"] });
  const file = await Deno.stat(rig.credentialsFile);
  assert.equal((file.mode ?? 0) & 0o777, 0o600);
  const left = [...Deno.readDirSync(join(rig.dir, "agent", "etc"))].map(({ name }) => name);
  assert.ok(!left.includes("enrollment-key"), "the key is gone with its use");
});

Deno.test("a device killed while it waits for approval becomes one machine", async () => {
  const { rig, made, enrollment, token, machines } = await opened({ needsApproval: true });
  await using _ = rig;
  await Deno.remove(rig.credentialsFile);
  const args = ["-c", rig.credentialsFile, "--dev-mode", "--dir", join(rig.dir, "agent")];
  const env = { MACHINE_ENROLLMENT_TOKEN: token, MACHINE_CLOUD_ADDRESS: rig.cloudUrl };
  const waiting = async () => {
    const { enrollments } = await enrollment.listEnrollments({ locationId: made.location_id });
    return enrollments;
  };
  const first = rig.spawn("machine-agent", args, env);
  await waitFor(async () => (await waiting()).length === 1, { deadlineMs: 60_000 });
  const [device] = await waiting();
  assert.equal(device?.state, EnrollmentState.PENDING);
  assert.equal(device?.machineName, "kiosk-1");
  first.signal("SIGKILL", "group");
  await first.waitForEnd();

  await enrollment.approveEnrollment({ id: device?.id ?? "" });
  const again = rig.spawn("machine-agent", args, env);
  await waitFor(() => Deno.stat(rig.credentialsFile).then(() => true, () => false), {
    deadlineMs: 60_000,
  });
  assert.equal((await waiting()).length, 1, "it is the same device");
  assert.deepEqual((await machines()).map(({ name }) => name), ["kiosk-1"]);
  await again.waitForLine(READY_LINE, 90_000);
});
