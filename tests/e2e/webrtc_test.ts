/** Callers who reach a machine over WebRTC, with real connections between real programs. */
import { type Client, Code, type ConnectError, createClient } from "@connectrpc/connect";
import assert from "node:assert/strict";
import { SignalingService } from "../../shared/gen/proto/rpc/webrtc/v1/signaling_pb.ts";
import { StreamService } from "../../shared/gen/proto/stream/v1/stream_pb.ts";
import { AppService } from "../../shared/gen/viam/app/v1/app_pb.ts";
import { SensorService } from "../../shared/gen/viam/component/sensor/v1/sensor_pb.ts";
import { RobotService } from "../../shared/gen/viam/robot/v1/robot_pb.ts";
import { memoryLogger } from "../../shared/log/memory_logger_testing.ts";
import { createDataChannelTransport } from "../../shared/rpc/data_channel/transport.ts";
import { createGrpcTransport } from "../../shared/rpc/client/grpc_transport.ts";
import { callPeer } from "../../shared/rtc/signaling/caller.ts";
import { systemClock } from "../../shared/base/time/clock.ts";
import { weriftPeers } from "../../shared/rtc/webrtc/werift_peers.ts";
import { signedInWith, signIn } from "../../tools/run/cloud_api.ts";
import { giveAccounts, sessionOf, setPasswords } from "../compat/people_rig.ts";
import { eventually, type Rig, rigTest } from "./rig.ts";

/** Dials as SDKs do, and hangs up in the end. */
class Callers implements Disposable {
  readonly #stop = new AbortController();
  readonly #peers = weriftPeers({ clock: systemClock, log: memoryLogger("caller") });

  /** @param url of the cloud, or of the machine's own port */
  async dial(rig: Rig, url: string, key = rig.bootstrapped.api_key) {
    const signaler = await signIn(url, { id: rig.bootstrapped.api_key_id, key });
    return await this.dialThrough(rig, signaler.client(SignalingService));
  }

  async dialThrough(rig: Rig, client: Client<typeof SignalingService>) {
    const { fqdn: host } = rig.bootstrapped;
    const { signal } = this.#stop;
    const peer = await callPeer({ client, host, peers: this.#peers, signal });
    const transport = createDataChannelTransport(peer.channel);
    return {
      peer,
      sensor: createClient(SensorService, transport),
      robot: createClient(RobotService, transport),
      streams: createClient(StreamService, transport),
    };
  }

  [Symbol.dispose]() {
    this.#stop.abort(new Error("the test is over"));
  }
}

/** The machine waits at its cloud only some moments after its start. */
function dialCloud(callers: Callers, rig: Rig) {
  return eventually("a call through the cloud", () => callers.dial(rig, rig.cloudUrl));
}

async function readsHost({ sensor }: Awaited<ReturnType<Callers["dial"]>>): Promise<void> {
  const { readings } = await sensor.getReadings({ name: "host" }, { timeoutMs: 60_000 });
  assert.ok(Object.keys(readings).length >= 5, Object.keys(readings).join());
}

rigTest("a machine is reached over WebRTC by its own port and through its cloud", async (rig) => {
  using callers = new Callers();
  await rig.startCloud();
  await rig.startServer();
  const direct = await callers.dial(rig, rig.serverUrl);
  await readsHost(direct);
  const passedOn = await dialCloud(callers, rig);
  await readsHost(passedOn);
  const { partId } = rig;
  const { machinePartId } = await passedOn.robot.getCloudMetadata({});
  assert.equal(machinePartId, partId);

  // What the two exchange about each other is done: neither needs the cloud from here on.
  await rig.programs[0]!.stop(5_000);
  for (let n = 0; n < 20; n++) await Promise.all([readsHost(direct), readsHost(passedOn)]);
});

rigTest(
  "a machine started again is reached over WebRTC again, also with a new cloud process",
  async (rig) => {
    using callers = new Callers();
    const cloud = await rig.startCloud();
    const server = await rig.startServer();
    await readsHost(await dialCloud(callers, rig));
    server.signal("SIGKILL", "group");
    await server.waitForEnd();
    await rig.startServer();
    await readsHost(await dialCloud(callers, rig));
    cloud.signal("SIGKILL", "group");
    await cloud.waitForEnd();
    await rig.startCloud();
    await readsHost(await dialCloud(callers, rig));
  },
);

rigTest("a revoked key ends its WebRTC connections, and those alone", async (rig) => {
  using callers = new Callers();
  await rig.startCloud();
  await rig.startServer();
  const app = (await rig.cloud()).client(AppService);
  const made = await app.createKey({
    name: "guest",
    authorizations: [{
      authorizationType: "role",
      authorizationId: "organization_owner",
      resourceType: "organization",
      resourceId: rig.bootstrapped.org_id,
    }],
  });
  const guest = await eventually("the new key", () => signIn(rig.serverUrl, made));
  const owner = await dialCloud(callers, rig);
  const guestAtCloud = (await signIn(rig.cloudUrl, made)).client(SignalingService);
  const guests = await Promise.all([
    callers.dialThrough(rig, guest.client(SignalingService)),
    callers.dialThrough(rig, guestAtCloud),
  ]);
  for (const each of [owner, ...guests]) await readsHost(each);
  await app.deleteKey({ id: made.id });
  await Promise.all(guests.map(({ peer }) => peer.closed));
  for (const each of guests) await assert.rejects(() => readsHost(each), /unavailable/);
  await readsHost(owner);
  await assert.rejects(() => callers.dialThrough(rig, guestAtCloud), /unauthenticated/);
});

rigTest(
  "a person whose role is taken away loses WebRTC connections, and nobody else",
  async (rig) => {
    using callers = new Callers();
    await rig.bootstrap();
    const emails = ["ann@example.com", "bob@example.com"];
    const links = await giveAccounts(rig, emails);
    await rig.startCloud();
    await rig.startServer();
    await setPasswords(rig, links);
    const app = (await rig.cloud()).client(AppService);
    const { org_id: organizationId, machine_id } = rig.bootstrapped;
    const people = await Promise.all(emails.map(async (email) => {
      const { userId: identityId } = await app.getUserIDByEmail({ email });
      const signaler = signedInWith(rig.cloudUrl, await sessionOf(rig, email));
      return {
        identityId,
        dial: () => callers.dialThrough(rig, signaler.client(SignalingService)),
      };
    }));
    const [ann, bob] = [people[0]!, people[1]!];
    const all = {
      authorizationId: "owner",
      resourceType: "organization",
      resourceId: organizationId,
    };
    const one = { authorizationId: "operator", resourceType: "robot", resourceId: machine_id };
    const role = (of: typeof ann, on: typeof all) => ({
      authorization: { ...on, organizationId, identityType: "user", identityId: of.identityId },
    });
    await app.addRole(role(bob, one));
    await app.removeRole(role(bob, all));

    const owner = await dialCloud(callers, rig);
    for (const [person, on] of [[ann, all], [bob, one]] as const) {
      const connection = await eventually("a call of the person", person.dial);
      await readsHost(connection);
      await app.removeRole(role(person, on));
      await connection.peer.closed;
      await assert.rejects(() => readsHost(connection), /unavailable/);
      await assert.rejects(person.dial, /host not preconfigured|unauthenticated/);
    }
    await readsHost(owner);
  },
);

rigTest("nobody comes over WebRTC who is not signed in", async (rig) => {
  using callers = new Callers();
  await rig.startCloud();
  await rig.startServer();
  for (const baseUrl of [rig.serverUrl, rig.cloudUrl]) {
    const transport = createGrpcTransport({ baseUrl });
    const stranger = createClient(SignalingService, transport);
    await assert.rejects(() => callers.dialThrough(rig, stranger), /unauthenticated/);
    transport.close();
  }
  const { streams } = await callers.dial(rig, rig.serverUrl);
  assert.deepEqual((await streams.listStreams({})).names, []);
});

rigTest("-webrtc=false leaves direct connections only", async (rig) => {
  using callers = new Callers();
  await rig.startCloud();
  await rig.startServer(["-webrtc=false"]);
  await rig.readings("host");
  await assert.rejects(() => callers.dial(rig, rig.serverUrl), /host not preconfigured/);
  await assert.rejects(
    () => callers.dial(rig, rig.cloudUrl),
    (error: ConnectError) => error.code === Code.NotFound,
  );
});
