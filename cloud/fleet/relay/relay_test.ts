/** Callers, signalling, data channels and a device's stream, with connections in memory. */
import assert from "node:assert/strict";
import { Code, createClient } from "@connectrpc/connect";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { waitFor } from "../../../shared/base/time/wait_for.ts";
import { KeyRole, MachineService } from "../../../shared/gen/machine/cloud/v1/machine_pb.ts";
import { SignalingService } from "../../../shared/gen/proto/rpc/webrtc/v1/signaling_pb.ts";
import { RobotService } from "../../../shared/gen/viam/robot/v1/robot_pb.ts";
import { createDataChannelTransport } from "../../../shared/rpc/data_channel/transport.ts";
import { callPeer } from "../../../shared/rtc/signaling/caller.ts";
import { FakePeers } from "../../../shared/rtc/signaling/fake_peers.ts";
import type { BootstrapResult } from "../../local/bootstrap/bootstrap.ts";
import {
  apiKey,
  type Credentials,
  failure,
  partSecret,
  TestCloud,
} from "../../serve/cloud_testing.ts";
import { Device } from "./device_testing.ts";
import { MOST_OF_CALLER } from "./relayed_connections.ts";
import { MOST_OF_DEVICE } from "./relay_answerers.ts";

const SOON = { deadlineMs: 60_000 };

class Rig implements AsyncDisposable {
  readonly #stop = new AbortController();

  private constructor(
    readonly cloud: TestCloud,
    readonly made: BootstrapResult,
    readonly device: Device,
    readonly peers: FakePeers,
    readonly clock: FakeClock,
  ) {}

  static async open(): Promise<Rig> {
    const clock = new FakeClock();
    const peers = new FakePeers();
    const cloud = await TestCloud.open({ peers, clock });
    const made = await cloud.bootstrap();
    const rig = new Rig(cloud, made, new Device(cloud, made), peers, clock);
    await waitFor(() => cloud.services.presence.of(made.part_id).state === "online", SOON);
    return rig;
  }

  async dial(credentials: Credentials = apiKey(this.made), host = this.made.fqdn) {
    const peer = await callPeer({
      client: this.cloud.client(SignalingService, credentials),
      host,
      peers: this.peers,
      signal: this.#stop.signal,
    });
    return { peer, robot: createClient(RobotService, createDataChannelTransport(peer.channel)) };
  }

  async key(authorizationId: string, resourceId: string): Promise<Credentials> {
    const resourceType = authorizationId.split("_")[0] ?? "";
    const authorizations = [{ authorizationId, resourceType, resourceId }];
    const { id, key } = await this.cloud.app(this.made).createKey({ name: "k", authorizations });
    return { type: "api-key", entity: id, payload: key };
  }

  /** What the audit log has of relayed callers. */
  async audited(): Promise<[string, string][]> {
    const rows = await this.cloud.folder.database.queries.selectFrom("audit_entries")
      .select(["action", "actor"]).where(
        "target",
        "=",
        JSON.stringify({ part_id: this.made.part_id }),
      )
      .orderBy("action").execute();
    return rows.map(({ action, actor }) => [action, actor]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.device[Symbol.asyncDispose]();
    await this.cloud[Symbol.asyncDispose]();
  }
}

Deno.test("the cloud answers for a device that takes calls, and says who calls", async () => {
  await using rig = await Rig.open();
  const { robot } = await rig.dial();
  let header = new Headers();
  const { version } = await robot.getVersion({}, { onHeader: (got) => void (header = got) });
  assert.deepEqual([version, header.get("machine-relayed")], ["9.9.9", "cloud"]);
  const operator = await rig.key("robot_operator", rig.made.machine_id);
  const theirs = await rig.dial(operator);
  await theirs.robot.getVersion({});
  assert.deepEqual(rig.device.got.map(({ method, caller, role }) => [method, caller, role]), [
    ["/viam.robot.v1.RobotService/GetVersion", rig.made.api_key_id, KeyRole.OWNER],
    ["/viam.robot.v1.RobotService/GetVersion", operator.entity, KeyRole.OPERATOR],
  ]);
});

Deno.test("an operator does at a device what operators may, and only that is passed on", async () => {
  await using rig = await Rig.open();
  const operator = await rig.key("robot_operator", rig.made.machine_id);
  const { robot } = await rig.dial(operator);
  assert.equal((await failure(robot.shutdown({}))).code, Code.PermissionDenied);
  assert.deepEqual(rig.device.got, []);
  const owner = await rig.dial();
  await owner.robot.shutdown({});
  assert.deepEqual(rig.device.got.map(({ method }) => method), [
    "/viam.robot.v1.RobotService/Shutdown",
  ]);
  const call = "proto.rpc.webrtc.v1.SignalingService/Call";
  assert.deepEqual(await rig.audited(), [
    [call, operator.entity],
    [call, rig.made.api_key_id],
    ["viam.robot.v1.RobotService/Shutdown", rig.made.api_key_id],
  ]);
});

Deno.test("a device of others is no host, and its calls are answered by nobody else", async () => {
  await using rig = await Rig.open();
  const theirs = await rig.cloud.bootstrap({ organization: "Other" });
  await using stranger = new Device(rig.cloud, theirs);
  const refused = await failure(rig.dial(apiKey(theirs)));
  assert.deepEqual(refused, { code: Code.InvalidArgument, message: "host not preconfigured" });

  rig.device.isSilent = true;
  const { robot } = await rig.dial();
  const leaving = new AbortController();
  const calling = failure(robot.getVersion({}, { signal: leaving.signal }));
  await waitFor(() => rig.device.got.length > 0, SOON);
  const answers = [{ id: rig.device.got[0]?.id ?? 0, response: new Uint8Array([10, 1, 65]) }];
  await stranger.machine.answerCalls({ partId: theirs.part_id, answers });
  const inTheirName = stranger.machine.answerCalls({ partId: rig.made.part_id, answers });
  assert.equal((await failure(inTheirName)).code, Code.NotFound);
  const operator = await rig.key("robot_operator", rig.made.machine_id);
  const byOperator = rig.cloud.client(MachineService, operator);
  const { part_id: partId } = rig.made;
  assert.equal((await failure(byOperator.answerCalls({ partId, answers }))).code, 7);
  leaving.abort();
  assert.equal((await calling).code, Code.Canceled);
});

Deno.test("a connection to a device ends with the key behind it, also within a call", async () => {
  await using rig = await Rig.open();
  const operator = await rig.key("robot_operator", rig.made.machine_id);
  rig.device.isSilent = true;
  const { robot } = await rig.dial(operator);
  const calling = failure(robot.getVersion({}));
  await waitFor(() => rig.device.got.length > 0, SOON);
  await rig.cloud.app(rig.made).deleteKey({ id: operator.entity });
  await rig.cloud.services.changes.drain();
  // At once: the clock stands still.
  assert.equal((await calling).code, Code.Unavailable);
  assert.equal((await failure(rig.dial(operator))).code, Code.Unauthenticated);
});

Deno.test("a connection to a device has the role that its caller has now", async () => {
  await using rig = await Rig.open();
  const owner = await rig.key("robot_owner", rig.made.machine_id);
  const { robot } = await rig.dial(owner);
  await robot.shutdown({});
  await rig.cloud.folder.database.queries.updateTable("api_key_grants").set({ role: "operator" })
    .where("key_id", "=", owner.entity).execute();
  await rig.cloud.folder.database.queries.insertInto("changes")
    .values({ org_id: rig.made.org_id, part_id: null, kind: "access", created_at: 0 }).execute();
  await rig.cloud.services.changes.drain();
  await waitFor(async () => (await failure(robot.shutdown({}))).code === 7, SOON);
});

Deno.test("connections to one device, and those of one caller, are bounded", async () => {
  await using rig = await Rig.open();
  const open = [];
  for (let n = 0; n < MOST_OF_DEVICE; n++) open.push(await rig.dial());
  const { code } = await failure(rig.dial());
  assert.equal(code, Code.ResourceExhausted);
  await open[0]?.peer.close();
  await rig.peers.made.find(({ isClosed }) => !isClosed)?.close();
  await waitFor(async () => {
    open.push(await rig.dial());
    return true;
  }, SOON);

  const others = [
    await rig.cloud.bootstrap({ machine: "two" }),
    await rig.cloud.bootstrap({ machine: "three" }),
  ];
  await using _two = new Device(rig.cloud, others[0]!);
  await using _three = new Device(rig.cloud, others[1]!);
  const { presence } = rig.cloud.services;
  const areOnline = () => others.every(({ part_id: id }) => presence.of(id).state === "online");
  await waitFor(areOnline, SOON);
  let made = MOST_OF_DEVICE;
  const more = await failure((async () => {
    for (const { fqdn } of others) {
      for (let n = 0; n < MOST_OF_DEVICE; n++, made++) await rig.dial(apiKey(rig.made), fqdn);
    }
  })());
  assert.equal(more.code, Code.ResourceExhausted);
  assert.match(more.message, new RegExp(`${MOST_OF_CALLER} connections`));
  assert.ok(made >= MOST_OF_CALLER - 1, `${made}`);
});

Deno.test("calls fail when the device goes, and find it when it is back", async () => {
  await using rig = await Rig.open();
  rig.device.isSilent = true;
  const { robot } = await rig.dial();
  const calling = failure(robot.getVersion({}));
  await waitFor(() => rig.device.got.length > 0, SOON);
  await rig.device[Symbol.asyncDispose]();
  assert.equal((await calling).code, Code.Unavailable);
  assert.equal((await failure(robot.getVersion({}))).code, Code.Unavailable);
  await using _back = new Device(rig.cloud, rig.made);
  await waitFor(async () => (await robot.getVersion({})).version === "9.9.9", SOON);
});

Deno.test("a request that is too large for a device is not passed on", async () => {
  await using rig = await Rig.open();
  const { robot } = await rig.dial();
  const large = robot.log({ logs: [{ message: "x".repeat(40_000) }] });
  assert.equal((await failure(large)).code, Code.ResourceExhausted);
  assert.deepEqual(rig.device.got, []);
});

Deno.test("a device that does not say that it takes calls gets none", async () => {
  await using cloud = await TestCloud.open({ peers: new FakePeers() });
  const made = await cloud.bootstrap();
  const stop = new AbortController();
  const machine = cloud.client(MachineService, partSecret(made));
  const cases: (string | undefined)[] = [];
  const watching = (async () => {
    const { signal } = stop;
    for await (const { event } of machine.watch({ partId: made.part_id }, { signal })) {
      cases.push(event.case);
    }
  })().catch(() => undefined);
  await waitFor(() => cases.length > 0, SOON);
  const client = cloud.client(SignalingService, apiKey(made));
  await client.optionalWebRTCConfig({}, { headers: { "rpc-host": made.fqdn } });
  assert.deepEqual(cases, ["configChanged"]);
  stop.abort();
  await watching;
});
