/** A real cloud on a port, a machine that answers there, and connections with ICE, DTLS and SCTP. */
import assert from "node:assert/strict";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import type { CloudCredentials } from "../../../shared/cloud/auth/cloud_credentials.ts";
import { Secret } from "../../../shared/base/redaction/secret.ts";
import { CloudConnection } from "../../../shared/cloud/client/connection.ts";
import { AppService, OnlineState } from "../../../shared/gen/viam/app/v1/app_pb.ts";
import { SensorService } from "../../../shared/gen/viam/component/sensor/v1/sensor_pb.ts";
import { SignalingService } from "../../../shared/gen/proto/rpc/webrtc/v1/signaling_pb.ts";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { serveDataChannel } from "../../../shared/rpc/data_channel/server.ts";
import { createDataChannelTransport } from "../../../shared/rpc/data_channel/transport.ts";
import { testRouter } from "../../../shared/rpc/testing.ts";
import { Answerer } from "../../../shared/rtc/signaling/answerer.ts";
import { callPeer, type CallPeerOptions } from "../../../shared/rtc/signaling/caller.ts";
import { systemClock } from "../../../shared/base/time/clock.ts";
import { waitFor } from "../../../shared/base/time/wait_for.ts";
import type { RtcPeer, RtcPeers } from "../../../shared/rtc/webrtc/peer.ts";
import { weriftPeers } from "../../../shared/rtc/webrtc/werift_peers.ts";
import { freePort } from "../../../shared/test_tools/free_port.ts";
import type { BootstrapResult } from "../../local/bootstrap/bootstrap.ts";
import { bootstrapFolder } from "../../local/bootstrap/bootstrap_testing.ts";
import { systemRandom } from "../../storage/keys/random.ts";
import { type Cloud, startCloud } from "../../serve/cloud.ts";

const log = memoryLogger("test");
const deps = { clock: systemClock, random: systemRandom, log };
const SOON = { deadlineMs: 60_000 };

interface MachineOptions {
  /** Streams both ways over HTTP/2 of our own next to gRPC-web, as on older runtimes. */
  readonly http2?: boolean;
  readonly peers?: RtcPeers;
}

class Rig implements AsyncDisposable {
  cloud!: Cloud;
  made!: BootstrapResult;
  readonly #end = new AbortController();
  readonly #running: Promise<void>[] = [];
  readonly #connections: CloudConnection[] = [];
  readonly #port = freePort();

  private constructor(private readonly dir: string) {}

  static async open(): Promise<Rig> {
    const rig = new Rig(await Deno.makeTempDir({ prefix: "machine-cloud-signaling-" }));
    rig.made = await bootstrapFolder(rig.dir);
    await rig.serve();
    return rig;
  }

  /** Begins to serve, again at the same port. */
  async serve(): Promise<void> {
    this.cloud = await startCloud({
      dataDir: this.dir,
      listen: { hostname: "127.0.0.1", port: this.#port },
      domain: "machine.internal",
      packageLimitBytes: 1_000_000,
      hostname: "localhost",
      iceServers: [],
    }, deps);
  }

  connection(credentials: CloudCredentials, http2 = true): CloudConnection {
    const appAddress = this.cloud.url;
    const connection = CloudConnection.open({ appAddress, credentials, http2, log });
    this.#connections.push(connection);
    return connection;
  }

  owner(http2 = true): CloudConnection {
    const { api_key_id: entity, api_key } = this.made;
    return this.connection({ type: "api-key", entity, payload: new Secret(api_key) }, http2);
  }

  /** A machine that does nothing but answer, as a stock one does to this cloud. */
  machine({ http2 = true, peers = realPeers() }: MachineOptions = {}): { stop(): void } {
    const { part_id: entity, part_secret, fqdn } = this.made;
    const payload = new Secret(part_secret);
    const connection = this.connection({ type: "robot-secret", entity, payload }, http2);
    const stop = new AbortController();
    this.#end.signal.addEventListener("abort", () => stop.abort());
    const answerer = new Answerer({
      client: connection.client(SignalingService),
      hosts: [fqdn],
      peers,
      accept: (peer) => this.#serveCalls(peer),
      clock: systemClock,
      log,
      random: () => 0.1,
    });
    this.#running.push(answerer.run(stop.signal));
    return { stop: () => stop.abort() };
  }

  #serveCalls(peer: RtcPeer): void {
    const { signal } = this.#end;
    serveDataChannel(peer.channel, {
      router: testRouter(),
      interceptors: [],
      peer: { address: "", port: 0, transport: "webrtc", local: false },
      report: (error) => log.error("unexpected", { error: String(error) }),
      signal,
    });
    signal.addEventListener("abort", () => void peer.close());
  }

  async online(): Promise<void> {
    const app = this.owner().client(AppService);
    await waitFor(async () => {
      const { robot } = await app.getRobot({ id: this.made.machine_id });
      return robot?.onlineState === OnlineState.ONLINE;
    }, { ...SOON, everyMs: 50, what: "the machine that is online" });
  }

  dial(connection: CloudConnection, options: Partial<CallPeerOptions> = {}): Promise<RtcPeer> {
    return callPeer({
      client: connection.client(SignalingService),
      host: this.made.fqdn,
      peers: realPeers(),
      signal: this.#end.signal,
      ...options,
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#end.abort(new Error("the test is over"));
    await Promise.all(this.#running);
    for (const connection of this.#connections) connection.close();
    await this.cloud.close({ graceMs: 100 });
    await Deno.remove(this.dir, { recursive: true });
  }
}

function realPeers(): RtcPeers {
  return weriftPeers({ clock: systemClock, log });
}

/** Makes connections that never open: the peer's candidates are thrown away. */
function deafPeers(): RtcPeers {
  const real = realPeers();
  const deaf = (peer: RtcPeer): RtcPeer => ({
    channel: peer.channel,
    opened: peer.opened,
    closed: peer.closed,
    onCandidate: () => undefined,
    addCandidate: () => Promise.resolve(),
    close: () => peer.close(),
  });
  return {
    offer: (options) => real.offer(options),
    async answer(offer, options) {
      const { peer, sdp } = await real.answer(offer, options);
      return { peer: deaf(peer), sdp: sdp.replace(/^a=candidate:.*\r\n/gm, "") };
    },
  };
}

async function echoes(peer: RtcPeer, name: string): Promise<void> {
  const sensor = createClient(SensorService, createDataChannelTransport(peer.channel));
  const { readings } = await sensor.getReadings({ name }, { timeoutMs: 60_000 });
  assert.equal(readings["name"]?.kind.value, name);
}

for (const http2 of [true, false]) {
  const way = http2 ? "native gRPC" : "gRPC-web and HTTP/2 of our own";
  Deno.test(`a machine is called through a real cloud by ${way}, with and without trickle`, async () => {
    await using rig = await Rig.open();
    rig.machine({ http2 });
    await rig.online();
    for (const trickle of [true, false]) {
      const peer = await rig.dial(rig.owner(http2), { trickle });
      await echoes(peer, `trickle ${trickle}`);
      await peer.close();
    }
  });
}

Deno.test("connections outlive the cloud that made them, and new ones come when it is back", async () => {
  await using rig = await Rig.open();
  rig.machine();
  await rig.online();
  const owner = rig.owner();
  const before = await rig.dial(owner);
  await rig.cloud.close({ graceMs: 0 });
  await echoes(before, "while the cloud is away");
  const error = await rig.dial(owner).then(() => undefined, (error) => ConnectError.from(error));
  assert.equal(error?.code, Code.Unavailable);
  await rig.serve();
  await rig.online();
  const after = await rig.dial(owner);
  await echoes(after, "the new");
  await echoes(before, "the old");
});

Deno.test("a caller is told at once when the cloud or the machine goes in the middle of its call", async () => {
  for (const who of ["cloud", "machine"] as const) {
    await using rig = await Rig.open();
    let asked = 0;
    const deaf = deafPeers();
    const machine = rig.machine({
      peers: { ...deaf, answer: (...all) => (asked++, deaf.answer(...all)) },
    });
    await rig.online();
    const dialed = rig.dial(rig.owner()).then(() => undefined, (error) => ConnectError.from(error));
    await waitFor(() => asked === 1, { ...SOON, what: "the call at the machine" });
    if (who === "machine") machine.stop();
    else await rig.cloud.close({ graceMs: 0 });
    // At the deadline it would be another code.
    assert.equal((await dialed)?.code, Code.Unavailable, who);
    if (who === "cloud") await rig.serve();
  }
});

Deno.test("a machine that nobody answers for is offline to its callers after five seconds", async () => {
  await using rig = await Rig.open();
  const error = await rig.dial(rig.owner(false)).then(() => undefined, (error) => error);
  assert.ok(error instanceof ConnectError);
  assert.equal(error.code, Code.NotFound);
  assert.match(error.rawMessage, /^host appears to be offline/);
});
