import assert from "node:assert/strict";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { Code } from "@connectrpc/connect";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import {
  EnrollmentService,
  EnrollmentState,
} from "../../../shared/gen/machine/cloud/v1/enrollment_pb.ts";
import { RobotService } from "../../../shared/gen/viam/app/v1/robot_pb.ts";
import { apiKey, failure, TestCloud } from "../../serve/cloud_testing.ts";

const key = (n: number) => `device-key-${n}-`.padEnd(40, "x");

async function opened(clock?: FakeClock) {
  const cloud = await TestCloud.open(clock ? { clock } : {});
  const made = await cloud.bootstrap();
  const owner = cloud.client(EnrollmentService, apiKey(made));
  const device = cloud.client(EnrollmentService);
  const locationId = made.location_id;
  const enroll = async (token: string, n: number, hostName = `host-${n}`) => {
    const { result } = await device.enroll({ token, deviceKey: key(n), device: { hostName } });
    return result;
  };
  return { cloud, made, owner, device, locationId, enroll };
}

Deno.test("enroll() makes a machine by the token's pattern, fragment and tags, once for a device", async () => {
  const { cloud, made, owner, locationId, enroll } = await opened();
  await using _ = cloud;
  const app = cloud.app(made);
  const { fragment } = await app.createFragment({
    ...{ name: "base", organizationId: made.org_id, config: { debug: true } },
  });
  const { token, enrollmentToken } = await owner.createEnrollmentToken({
    ...{ locationId, name: "kiosks", namePattern: "kiosk-{n}" },
    template: { fragmentIds: [fragment!.id], tags: ["shop"] },
  });
  const first = await enroll(token, 1);
  assert.ok(first.case === "machine");
  assert.deepEqual(await enroll(token, 1), first, "the same device is the same machine");
  const second = await enroll(token, 2);
  assert.ok(second.case === "machine");
  assert.deepEqual([first.value.machineName, second.value.machineName], ["kiosk-1", "kiosk-2"]);
  assert.equal(first.value.appAddress, "http://127.0.0.1:8080");

  const { partId, partSecret } = first.value;
  const robot = cloud.client(RobotService, {
    ...{ type: "robot-secret", entity: partId, payload: partSecret },
  });
  assert.equal((await robot.config({ id: partId })).config?.debug, true);
  const { part } = await app.getRobotPart({ id: partId });
  assert.deepEqual(part?.robotConfig?.["agent"], { tags: ["shop"] });
  const { enrollments } = await owner.listEnrollments({ locationId });
  assert.deepEqual(
    enrollments.map((each) => [each.machineName, each.state, each.device?.hostName]),
    [
      ["kiosk-2", EnrollmentState.ENROLLED, "host-2"],
      ["kiosk-1", EnrollmentState.ENROLLED, "host-1"],
    ],
  );
  const inUse = await failure(app.deleteFragment({ id: fragment!.id }));
  assert.match(inUse.message, /1 enrollment token \(kiosks\)/);

  // A deleted machine frees its place, and its device may come again.
  await app.deleteRobot({ id: first.value.machineId });
  const again = await enroll(token, 1);
  assert.ok(again.case === "machine");
  assert.notEqual(again.value.machineId, first.value.machineId);

  await owner.deleteEnrollmentToken({ id: enrollmentToken!.id });
  assert.equal((await failure(enroll(token, 3))).code, Code.Unauthenticated);
  assert.equal((await app.listRobots({ locationId })).robots.length, 3, "its machines stay");
});

Deno.test("enroll() gives names that are taken a number", async () => {
  const { cloud, owner, locationId, enroll } = await opened();
  await using _ = cloud;
  const { token } = await owner.createEnrollmentToken({ locationId, name: "t" });
  const names = [];
  for (const n of [1, 2, 3]) {
    const result = await enroll(token, n, "demo.local");
    names.push(result.case === "machine" ? result.value.machineName : "");
  }
  assert.deepEqual(names, ["demo-2", "demo-3", "demo-4"]);
});

Deno.test("enroll() keeps to limit and expiry, but gives what a device was given before", async () => {
  const clock = new FakeClock();
  const { cloud, owner, locationId, enroll } = await opened(clock);
  await using _ = cloud;
  const expiresAt = timestampFromMs(clock.now().getTime() + 60_000);
  const { token } = await owner.createEnrollmentToken({
    ...{ locationId, name: "two", maxMachines: 2, expiresAt },
  });
  const first = await enroll(token, 1);
  await enroll(token, 2);
  const full = await failure(enroll(token, 3));
  assert.equal(full.code, Code.ResourceExhausted);
  assert.match(full.message, /for 2 machines/);
  await clock.advance(61_000);
  assert.deepEqual(await enroll(token, 1), first);
  const { token: other } = await owner.createEnrollmentToken({
    ...{ locationId, name: "short", expiresAt: timestampFromMs(clock.now().getTime() + 1_000) },
  });
  await clock.advance(2_000);
  const late = await failure(enroll(other, 3));
  assert.equal(late.code, Code.FailedPrecondition);
  assert.match(late.message, /expired/);
});

Deno.test("a device waits until somebody approves of it, or is turned away", async () => {
  const { cloud, made, owner, locationId, enroll } = await opened();
  await using _ = cloud;
  const { token } = await owner.createEnrollmentToken({
    ...{ locationId, name: "asked", needsApproval: true, maxMachines: 2 },
  });
  for (const n of [1, 2]) {
    assert.deepEqual(await enroll(token, n), { case: "pendingSeconds", value: 30 });
  }
  assert.equal((await failure(enroll(token, 3))).code, Code.ResourceExhausted, "waiting counts");
  assert.equal((await cloud.app(made).listRobots({ locationId })).robots.length, 1);
  const { enrollments } = await owner.listEnrollments({
    ...{ locationId, state: EnrollmentState.PENDING, pageLimit: 1n },
  });
  assert.deepEqual(enrollments.map((each) => each.machineName), ["host-2"]);
  const { enrollments: [one] } = await owner.listEnrollments({
    ...{ locationId, pageLimit: 1n },
    pageToken: (await owner.listEnrollments({ locationId, pageLimit: 1n })).nextPageToken,
  });

  const taken = await failure(owner.approveEnrollment({ id: one!.id, name: "demo" }));
  assert.equal(taken.code, Code.AlreadyExists);
  const approved = await owner.approveEnrollment({ id: one!.id, name: "front" });
  assert.equal(approved.machineName, "front");
  const result = await enroll(token, 1);
  assert.equal(result.case === "machine" && result.value.machineId, approved.machineId);
  const twice = await failure(owner.approveEnrollment({ id: one!.id }));
  assert.equal(twice.code, Code.FailedPrecondition);

  await owner.refuseEnrollment({ id: enrollments[0]!.id });
  assert.equal((await failure(enroll(token, 2))).code, Code.PermissionDenied);
  assert.equal(
    (await enroll(token, 3)).case,
    "pendingSeconds",
    "who was turned away frees a place",
  );
});

Deno.test("enroll() bounds what a stranger may send, and slows down guessing", async () => {
  const { cloud, device, owner, locationId } = await opened();
  await using _ = cloud;
  const { token } = await owner.createEnrollmentToken({ locationId, name: "t" });
  const good = { token, deviceKey: key(1), device: { hostName: "h" } };
  for (
    const wrong of [
      { ...good, token: "" },
      { ...good, deviceKey: "short" },
      { ...good, deviceKey: `${key(1)}\n` },
      { ...good, device: { hostName: "x".repeat(300) } },
      { ...good, device: { serial: "a\u0000" } },
    ]
  ) assert.equal((await failure(device.enroll(wrong))).code, Code.InvalidArgument);
  const codes = new Set<number>();
  // Guesses come back at 20 a second.
  for (let n = 0; n < 5_000 && !codes.has(Code.ResourceExhausted); n += 1) {
    codes.add((await failure(device.enroll({ ...good, token: `guess-${n}` }))).code);
  }
  assert.deepEqual([...codes], [Code.Unauthenticated, Code.ResourceExhausted]);
});

Deno.test("createEnrollmentToken() refuses what could not make a machine", async () => {
  const { cloud, made, owner, locationId } = await opened();
  await using _ = cloud;
  const { fragment } = await cloud.app(made).createFragment({
    ...{ name: "needy", organizationId: made.org_id },
    config: { components: [{ name: { $variable: { name: "n" } }, api: "x" }] },
  });
  for (
    const [wrong, message] of [
      [{ name: "" }, /name: it is empty/],
      [{ namePattern: "{ip}" }, /\{ip\} is not known/],
      [{ maxMachines: -1 }, /max_machines/],
      [{ expiresAt: timestampFromMs(1) }, /not in the future/],
      [{ template: { tags: ["a b"] } }, /no tag/],
      [{ template: { fragmentIds: [crypto.randomUUID()] } }, /no fragment/],
      [
        { template: { fragmentIds: [fragment!.id] } },
        /needs the variable "n"; give it in "variables" of a fragment that includes this one, .*and name that/,
      ],
    ] as const
  ) {
    const call = owner.createEnrollmentToken({ locationId, name: "t", ...wrong } as never);
    assert.match((await failure(call)).message, message);
  }
});

Deno.test("createMachines() makes all or none, and says what is wrong with each", async () => {
  const { cloud, made, owner, locationId } = await opened();
  await using _ = cloud;
  const app = cloud.app(made);
  const wrong = await failure(owner.createMachines({
    locationId,
    machines: [{ name: "a" }, { name: "b c" }, { name: "a" }, {
      ...{ name: "d", template: { tags: ["!"] } },
    }],
  }));
  assert.equal(wrong.code, Code.InvalidArgument);
  for (const part of [/machines\[1\]\.name/, /machines\[2\]\.name.*twice/, /machines\[3\].*tag/]) {
    assert.match(wrong.message, part);
  }
  assert.equal((await app.listRobots({ locationId })).robots.length, 1);

  const machines = [{ name: "demo" }, { name: "a", template: { tags: ["x"] } }];
  const { machines: done } = await owner.createMachines({ locationId, machines });
  assert.deepEqual(done.map(({ machine, existed }) => [machine?.machineName, existed]), [
    ["demo", true],
    ["a", false],
  ]);
  const { machines: again } = await owner.createMachines({ locationId, machines });
  assert.deepEqual(again.map(({ machine }) => machine), done.map(({ machine }) => machine));
  assert.equal(done[0]?.machine?.partSecret, made.part_secret);
});
