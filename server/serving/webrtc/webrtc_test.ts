/** Callers of a machine over connections in memory, brought together by real signalling. */
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import assert from "node:assert/strict";
import { type Identity, identityKey } from "../../../shared/cloud/auth/identity.ts";
import { hashKey } from "../../../shared/cloud/auth/key_hash.ts";
import { Secret } from "../../../shared/base/redaction/secret.ts";
import { CloudConnection } from "../../../shared/cloud/client/connection.ts";
import { emptyMachineConfig } from "../../../shared/config/machine_config.ts";
import { AuthService } from "../../../shared/gen/proto/rpc/v1/auth_pb.ts";
import { SignalingService } from "../../../shared/gen/proto/rpc/webrtc/v1/signaling_pb.ts";
import { SensorService } from "../../../shared/gen/viam/component/sensor/v1/sensor_pb.ts";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { createDataChannelTransport } from "../../../shared/rpc/data_channel/transport.ts";
import { createInProcessTransport } from "../../../shared/rpc/server/in_process.ts";
import type { Interceptor } from "../../../shared/rpc/server/interceptor.ts";
import { peerKey } from "../../../shared/rpc/server/peer.ts";
import { RpcRouter } from "../../../shared/rpc/server/router.ts";
import { RpcServer } from "../../../shared/rpc/server/server.ts";
import { callPeer } from "../../../shared/rtc/signaling/caller.ts";
import { CallQueue } from "../../../shared/rtc/signaling/call_queue.ts";
import type { SignalingAccess } from "../../../shared/rtc/signaling/signaling_access.ts";
import { FakePeers } from "../../../shared/rtc/signaling/fake_peers.ts";
import { signalingService } from "../../../shared/rtc/signaling/signaling_service.ts";
import { systemClock } from "../../../shared/base/time/clock.ts";
import { waitFor } from "../../../shared/base/time/wait_for.ts";
import { AccessControl } from "../access/access_control.ts";
import { NO_CLOUD_ACCESS } from "../access/cloud_access.ts";
import { accessRules } from "../access/rules_from_config.ts";
import { MOST_CONNECTIONS } from "./serving.ts";
import { WebRtc } from "./webrtc.ts";
import type { WebRtcOptions } from "./webrtc_options.ts";

const NAME = "arm-main.loc.machine.internal";
const CONFIG = { ...emptyMachineConfig(), cloud: { fqdn: NAME, local_fqdn: "arm.local" } };
const credentials = {
  appAddress: "http://127.0.0.1:1",
  partId: "part-1",
  credentials: {
    type: "robot-secret" as const,
    entity: "part-1",
    payload: new Secret("part-secret"),
  },
};

/** A machine that lets in whom the test says. */
class TestMachine implements AsyncDisposable {
  readonly access = new AccessControl();
  readonly peers = new FakePeers();
  readonly log = memoryLogger("rdk");
  readonly seen: string[] = [];
  readonly webrtc: WebRtc;
  readonly #stop = new AbortController();
  readonly #hash = hashKey("right");

  constructor(options: Partial<WebRtcOptions> = {}) {
    this.webrtc = new WebRtc({
      enabled: true,
      cloud: undefined,
      port: () => 8080,
      mount: (router) =>
        router.service(SensorService, {
          getReadings: (_request, { values, signal }) => {
            const { transport, local, address } = values.get(peerKey);
            this.seen.push(`${transport} ${local} ${address} ${values.get(identityKey)?.entity}`);
            signal.throwIfAborted();
            return { readings: {} };
          },
        }),
      interceptors: [this.access.interceptor],
      access: this.access,
      clock: systemClock,
      log: this.log,
      peers: this.peers,
      ...options,
    });
    this.webrtc.follow(CONFIG);
  }

  /** Lets in holders of these keys of the cloud's; nobody without. */
  async keys(...ids: string[]): Promise<void> {
    const hash = await this.#hash;
    const keys = new Map(ids.map((id) => [id, { hash, role: "owner" } as const]));
    const cloudAccess = { ...NO_CLOUD_ACCESS, keys };
    this.access.setRules(accessRules({ config: CONFIG, credentials, cloudAccess }));
    await this.webrtc.accessChanged();
  }

  /** Dials the own port as somebody who is signed in there with this identity. */
  dial(host = NAME, identity?: Identity) {
    const signedIn: Interceptor = {
      before: (call) => void (identity && call.values.set(identityKey, identity)),
    };
    const router = new RpcRouter().service(SignalingService, this.webrtc.signaling);
    const peer = { address: "10.0.0.9", port: 5, transport: "tcp", local: true } as const;
    const transport = createInProcessTransport(router, { interceptors: [signedIn], peer });
    return this.dialThrough(createClient(SignalingService, transport), host);
  }

  async dialThrough(client: Parameters<typeof callPeer>[0]["client"], host: string) {
    const { signal } = this.#stop;
    const peer = await callPeer({ client, host, peers: this.peers, signal });
    return {
      peer,
      sensor: createClient(SensorService, createDataChannelTransport(peer.channel)),
    };
  }

  async [Symbol.asyncDispose]() {
    this.#stop.abort();
    await this.webrtc.close(100);
  }
}

const hasCode = (code: Code, text = "") => (error: unknown) =>
  error instanceof ConnectError && error.code === code && error.rawMessage.includes(text);

/** Waits until the machine has closed the connection. */
async function ended({ sensor }: Awaited<ReturnType<TestMachine["dial"]>>): Promise<void> {
  const failure = () =>
    sensor.getReadings({}).then(() => undefined, (error) => ConnectError.from(error).code);
  await waitFor(async () => await failure() === Code.Unavailable, { deadlineMs: 60_000 });
}

Deno.test("WebRtc serves callers of the own port the machine's API, as remote ones", async () => {
  await using machine = new TestMachine();
  const { sensor } = await machine.dial();
  await sensor.getReadings({ name: "s" });
  await assert.rejects(() => sensor.doCommand({}), hasCode(Code.Unimplemented));
  assert.deepEqual(machine.seen, ["webrtc false 10.0.0.9 undefined"]);
});

Deno.test("WebRtc refuses other names so that SDKs connect directly", async () => {
  await using machine = new TestMachine();
  for (const host of ["other.internal", "127.0.0.1:8081"]) {
    await assert.rejects(
      () => machine.dial(host),
      hasCode(Code.InvalidArgument, "host not preconfigured"),
    );
  }
  await (await machine.dial("localhost:8080")).sensor.getReadings({});
  assert.equal(machine.peers.made.length, 2);
});

Deno.test("WebRtc knows no name when it is turned off", async () => {
  await using machine = new TestMachine({ enabled: false });
  await assert.rejects(
    () => machine.dial(),
    hasCode(Code.InvalidArgument, "host not preconfigured"),
  );
});

Deno.test("WebRtc ends a connection with the key that its caller signed in with", async () => {
  await using machine = new TestMachine();
  await machine.keys("k1", "k2");
  const [one, two] = await Promise.all(
    ["k1", "k2"].map((id) => machine.dial(NAME, machine.access.vouchedByCloud(id))),
  );
  await one!.sensor.getReadings({});
  await two!.sensor.getReadings({});
  await machine.keys("k2", "k3");
  await ended(one!);
  await two!.sensor.getReadings({});
  const entities = machine.seen.map((line) => line.split(" ")[3]);
  assert.deepEqual(entities, ["k1", "k2", "k2"]);
});

Deno.test("WebRtc ends connections without identity when callers must sign in from now on", async () => {
  await using machine = new TestMachine();
  const dialled = await machine.dial();
  await dialled.sensor.getReadings({});
  await machine.keys("k1");
  await ended(dialled);
});

Deno.test("WebRtc tells callers when there are too many connections", async () => {
  await using machine = new TestMachine();
  const dialled = [];
  while (dialled.length < MOST_CONNECTIONS) dialled.push(await machine.dial());
  await assert.rejects(() => machine.dial(), hasCode(Code.ResourceExhausted, "64"));
  // Those of the callers' side and the machine's take turns.
  await machine.peers.made[1]!.close();
  await (await machine.dial()).sensor.getReadings({});
});

/** A cloud that passes calls on to whoever waits for them. */
async function startSignaler() {
  const queue = new CallQueue({
    clock: systemClock,
    uuid: () => crypto.randomUUID(),
    limits: { answererMs: 1_000 },
  });
  const state = { entity: "k1" };
  const waiting = new Set<readonly string[]>();
  const access: SignalingAccess = {
    callable(host) {
      const caller = { owner: state.entity, entity: state.entity, metadata: {} };
      return Promise.resolve(host.endsWith(".internal") ? { key: host, caller } : undefined);
    },
    answering(hosts) {
      const opened = () => {
        waiting.add(hosts);
        return () => void waiting.delete(hosts);
      };
      return Promise.resolve({ keys: hosts, opened, check: () => Promise.resolve() });
    },
  };
  const service = signalingService({ queue, access, iceServers: () => [], clock: systemClock });
  const router = new RpcRouter()
    .service(AuthService, { authenticate: () => ({ accessToken: "t" }) })
    .service(SignalingService, service);
  const server = await RpcServer.start({ router, listen: { hostname: "127.0.0.1", port: 0 } });
  const appAddress = `http://127.0.0.1:${server.address.port}`;
  const connection = connect(appAddress);
  return {
    state,
    port: server.address.port,
    cloud: { connection, credentials: { ...credentials, appAddress }, allowInsecure: false },
    caller: connection.client(SignalingService),
    /** Waits until the machine waits under this name. */
    knows: (host: string) =>
      waitFor(() => [...waiting].some((hosts) => hosts.includes(host)), { deadlineMs: 60_000 }),
    async [Symbol.asyncDispose]() {
      connection.close();
      queue.close();
      await server.close({ graceMs: 100 });
    },
  };
}

function connect(appAddress: string): CloudConnection {
  return CloudConnection.open({ ...credentials, appAddress, log: memoryLogger("cloud") });
}

Deno.test("WebRtc answers callers that the cloud passes on, and drops them with a key", async () => {
  await using signaler = await startSignaler();
  const { state, cloud, caller } = signaler;
  await using machine = new TestMachine({ cloud });
  await machine.keys("k1", "k2");
  await signaler.knows(NAME);
  const one = await machine.dialThrough(caller, NAME);
  state.entity = "k2";
  const two = await machine.dialThrough(caller, NAME);
  state.entity = "";
  const nobody = await machine.dialThrough(caller, NAME);
  for (const { sensor } of [one, two, nobody]) await sensor.getReadings({});
  const entities = machine.seen.map((line) => line.replace(/^webrtc false {2}/, ""));
  assert.deepEqual(entities.slice(0, 2), ["k1", "k2"]);
  assert.match(entities[2]!, /^webrtc [0-9a-f-]{36}$/);
  await machine.keys("k2");
  await Promise.all([one, nobody].map(ended));
  await two.sensor.getReadings({});
});

Deno.test("WebRtc waits under a new name when the machine is renamed", async () => {
  await using signaler = await startSignaler();
  await using machine = new TestMachine({ cloud: signaler.cloud });
  await signaler.knows(NAME);
  const before = await machine.dialThrough(signaler.caller, NAME);
  machine.webrtc.follow({ cloud: { fqdn: "renamed.internal" } });
  await signaler.knows("renamed.internal");
  await (await machine.dialThrough(signaler.caller, "renamed.internal")).sensor.getReadings({});
  await assert.rejects(
    () => machine.dialThrough(signaler.caller, NAME),
    hasCode(Code.NotFound),
  );
  await before.sensor.getReadings({});
});

Deno.test("WebRtc waits at another address than the cloud's where the configuration says so", async () => {
  await using signaler = await startSignaler();
  const connection = connect(credentials.appAddress);
  await using machine = new TestMachine({
    cloud: { connection, credentials, allowInsecure: false },
  });
  const signaling_address = `127.0.0.1:${signaler.port}`;
  machine.webrtc.follow({
    cloud: { ...CONFIG.cloud, signaling_address, signaling_insecure: true },
  });
  await signaler.knows(NAME);
  await (await machine.dialThrough(signaler.caller, NAME)).sensor.getReadings({});
  connection.close();
});

Deno.test("WebRtc lets running calls end before it closes their connections", async () => {
  const release = Promise.withResolvers<void>();
  const entered = Promise.withResolvers<void>();
  await using machine = new TestMachine({
    mount: (router) =>
      router.service(SensorService, {
        getReadings: async () => {
          entered.resolve();
          await release.promise;
          return { readings: {} };
        },
      }),
  });
  const dialled = await machine.dial();
  const call = dialled.sensor.getReadings({});
  await entered.promise;
  const closing = machine.webrtc.close(10_000);
  release.resolve();
  await call;
  await closing;
  await ended(dialled);
  await assert.rejects(() => machine.dial(), hasCode(Code.InvalidArgument));
});
