import { create } from "@bufbuild/protobuf";
import assert from "node:assert/strict";
import { Code, ConnectError, createClient, type Transport } from "@connectrpc/connect";
import {
  AnswerRequestInitStageSchema,
  SignalingService,
} from "../../gen/proto/rpc/webrtc/v1/signaling_pb.ts";
import { memoryLogger } from "../../log/memory_logger_testing.ts";
import { createGrpcTransport } from "../../rpc/client/grpc_transport.ts";
import { RpcRouter } from "../../rpc/server/router.ts";
import { RpcServer } from "../../rpc/server/server.ts";
import { createWebTransport } from "../../rpc/client/fallback/web_transport.ts";
import { type Clock, systemClock } from "../../base/time/clock.ts";
import { FakeClock } from "../../base/time/fake_clock.ts";
import { waitFor } from "../../base/time/wait_for.ts";
import { freePort } from "../../test_tools/free_port.ts";
import type { RtcPeer } from "../webrtc/peer.ts";
import { Answerer } from "./answerer.ts";
import type { AnsweredCall, AnswererOptions } from "./answerer_options.ts";
import { CallQueue } from "./call_queue.ts";
import { callPeer } from "./caller.ts";
import { encodeSdp } from "./sdp.ts";
import { signalingService } from "./signaling_service.ts";
import { FakePeers } from "./fake_peers.ts";

const SOON = { deadlineMs: 60_000 };

/** A signaller on a real port, and one machine `m` that answers there. */
class Rig implements AsyncDisposable {
  readonly log = memoryLogger();
  readonly accepted: { peer: RtcPeer; call: AnsweredCall }[] = [];
  readonly stop = new AbortController();
  readonly peers: FakePeers;
  queue!: CallQueue;
  readonly #clock: Clock;
  #server: RpcServer | undefined;
  readonly #port = freePort();
  #running: Promise<void> = Promise.resolve();
  readonly #transports: (Transport & { close(): void })[] = [];

  private constructor(peers: FakePeers, clock: Clock) {
    this.peers = peers;
    this.#clock = clock;
  }

  static async start(
    { peers = new FakePeers(), clock = systemClock, ...options }:
      & Partial<Pick<AnswererOptions, "accept" | "admit" | "clock">>
      & { peers?: FakePeers } = {},
  ): Promise<Rig> {
    const rig = new Rig(peers, clock);
    await rig.listen();
    const transport = rig.#transport("grpc");
    const answerer = new Answerer({
      client: createClient(SignalingService, transport),
      hosts: ["m", "m.local"],
      peers,
      accept: (peer, call) => void rig.accepted.push({ peer, call }),
      clock,
      log: rig.log,
      random: () => 0,
      ...options,
    });
    rig.#running = answerer.run(rig.stop.signal);
    return rig;
  }

  /** Begins to serve, again at the same port after {@link die}. */
  async listen(): Promise<void> {
    const clock = this.#clock;
    this.queue = new CallQueue({ clock, uuid: () => crypto.randomUUID() });
    const service = signalingService({
      queue: this.queue,
      access: {
        callable: (host, context) => {
          const owner = context.requestHeader.get("user") ?? "ann";
          const metadata = { credential_type: "api-key" };
          const found = { key: host, caller: { owner, entity: owner, metadata } };
          return Promise.resolve(host === "m" || host === "n" ? found : undefined);
        },
        answering: (hosts) =>
          Promise.resolve({ keys: hosts, opened: () => () => {}, check: () => Promise.resolve() }),
      },
      iceServers: () => [{ urls: ["stun:s.example"] }],
      clock,
    });
    this.#server = await RpcServer.start({
      router: new RpcRouter().service(SignalingService, service),
      listen: { hostname: "127.0.0.1", port: this.#port },
    });
  }

  /** The signaller is gone at once, as when it is killed. */
  async die(): Promise<void> {
    await this.#server?.close({ graceMs: 0 });
    this.#server = undefined;
  }

  async waiting(): Promise<void> {
    await waitFor(() => this.queue.hostCount === 2, { ...SOON, what: "a stream that waits" });
  }

  call(
    kind: "grpc" | "web" = "grpc",
    options: { host?: string; trickle?: boolean; signal?: AbortSignal } = {},
  ) {
    return callPeer({
      client: createClient(SignalingService, this.#transport(kind)),
      host: "m",
      peers: this.peers,
      iceServers: [{ urls: ["stun:own.example"] }],
      clock: this.#clock,
      signal: this.stop.signal,
      ...options,
    });
  }

  #transport(kind: "grpc" | "web") {
    const baseUrl = `http://127.0.0.1:${this.#port}`;
    const create = kind === "grpc" ? createGrpcTransport : createWebTransport;
    const transport = create({ baseUrl });
    this.#transports.push(transport);
    return transport;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.stop.abort();
    await this.#running;
    for (const transport of this.#transports) transport.close();
    await this.die();
  }
}

async function failure(call: Promise<unknown>): Promise<ConnectError> {
  const error = await call.then(() => undefined, (error) => ConnectError.from(error));
  assert.ok(error, "the call did not fail");
  return error;
}

for (const kind of ["grpc", "web"] as const) {
  for (const trickle of [true, false]) {
    Deno.test(`Answerer connects a caller over ${kind} ${trickle ? "with" : "without"} trickle`, async () => {
      await using rig = await Rig.start();
      await rig.waiting();
      const peer = await rig.call(kind, { trickle });
      const { peer: own, call } = await waitFor(() => rig.accepted[0], SOON);
      assert.equal(call.callerEntity, "ann");
      assert.deepEqual({ ...call.callerMetadata }, { credential_type: "api-key" });
      const heard = new Promise<string>((resolve) =>
        own.channel.onMessage = (bytes) => resolve(new TextDecoder().decode(bytes))
      );
      peer.channel.send(new TextEncoder().encode("hello"));
      assert.equal(await heard, "hello");
      assert.deepEqual(rig.peers.iceServers, [
        [{ urls: ["stun:own.example"] }, { urls: ["stun:s.example"] }],
        [{ urls: ["stun:s.example"] }],
      ]);
      const taken = trickle ? ["candidate 0", "candidate 1", "candidate 2"] : [];
      await waitFor(() => rig.queue.callCount === 0, SOON);
      for (const { taken: got } of rig.peers.made) {
        assert.deepEqual(got, taken.slice(0, got.length));
        assert.equal(got.length > 0, trickle);
      }
    });
  }
}

Deno.test("Answerer answers many calls, also at once", async () => {
  await using rig = await Rig.start();
  await rig.waiting();
  const calls = Array.from({ length: 20 }, (_, at) => rig.call(at % 2 === 0 ? "grpc" : "web"));
  const peers = await Promise.all(calls);
  await waitFor(() => rig.accepted.length === 20, SOON);
  assert.equal(new Set(rig.accepted.map(({ call }) => call.uuid)).size, 20);
  assert.equal(new Set(peers).size, 20);
  await waitFor(() => rig.queue.callCount === 0, SOON);
});

Deno.test("Answerer tells the caller why it does not answer, and answers the next", async () => {
  const peers = new FakePeers();
  let refused: ConnectError | undefined = new ConnectError("64 are here", Code.ResourceExhausted);
  await using rig = await Rig.start({
    peers,
    admit: () => {
      if (refused) throw refused;
    },
  });
  await rig.waiting();
  const error = await failure(rig.call());
  assert.deepEqual([error.code, error.rawMessage], [Code.ResourceExhausted, "64 are here"]);
  refused = undefined;
  await rig.call();
  await waitFor(() => rig.accepted.length === 1, SOON);
});

Deno.test("Answerer goes on after a driver that fails", async () => {
  const refuse = new ConnectError("this offer has no channel", Code.InvalidArgument);
  await using rig = await Rig.start({ peers: new FakePeers({ refuse }) });
  for (let at = 0; at < 3; at++) {
    await rig.waiting();
    assert.equal((await failure(rig.call())).rawMessage, refuse.rawMessage);
  }
  assert.equal(rig.accepted.length, 0);
  assert.ok(rig.peers.made.every(({ isClosed }) => isClosed));
});

Deno.test("Answerer fails at the deadline when no connection comes to stand", async () => {
  const clock = new FakeClock();
  await using rig = await Rig.start({ peers: new FakePeers({ blocked: true }), clock });
  await rig.waiting();
  const call = failure(rig.call());
  await waitFor(() => rig.peers.made.length === 2, SOON);
  await clock.advance(20_000);
  assert.equal((await call).code, Code.DeadlineExceeded);
  await waitFor(() => rig.peers.made.every(({ isClosed }) => isClosed), SOON);
  assert.deepEqual([rig.accepted.length, rig.queue.callCount], [0, 0]);
});

Deno.test("Answerer closes what its caller cancelled", async () => {
  await using rig = await Rig.start({ peers: new FakePeers({ blocked: true, endless: true }) });
  await rig.waiting();
  const call = failure(rig.call());
  await waitFor(() => rig.peers.made[0]?.taken.length === 3, SOON);
  await rig.peers.made[0]?.close();
  assert.equal((await call).code, Code.Unavailable);
  await waitFor(() => rig.peers.made.every(({ isClosed }) => isClosed), SOON);
  await waitFor(() => rig.queue.callCount === 0, SOON);
  // It was notified why, and did not have to wait whether the caller is connected after all.
  await waitFor(() => /\[unavailable\] closed/.test(JSON.stringify(rig.log.entries)), SOON);
});

Deno.test("Answerer comes back after its signaller was killed, and says so once", async () => {
  await using rig = await Rig.start();
  await rig.waiting();
  await rig.die();
  await waitFor(() => rig.log.messages("warn").length > 0, SOON);
  await rig.listen();
  await rig.waiting();
  await rig.call();
  await waitFor(() => rig.accepted.length === 1, SOON);
  assert.deepEqual(rig.log.messages("warn"), [
    "cannot wait for calls over WebRTC at the moment; retrying",
  ]);
  assert.deepEqual(rig.log.messages("info"), ["calls over WebRTC can arrive again"]);
});

Deno.test("Answerer leaves accepted connections open, past the deadline and its own end", async () => {
  const clock = new FakeClock();
  await using rig = await Rig.start({ clock });
  await rig.waiting();
  const calling = new AbortController();
  await rig.call("grpc", { signal: calling.signal });
  const { peer } = await waitFor(() => rig.accepted[0], SOON);
  let closed = false;
  void peer.closed.then(() => closed = true);
  await clock.advance(60_000);
  rig.stop.abort();
  await waitFor(() => rig.queue.hostCount === 0, SOON);
  assert.equal(closed, false);
  calling.abort();
  await peer.close();
});

Deno.test("Answerer keeps a connection whose caller complains to the signaller afterwards", async () => {
  const peers = new FakePeers();
  const { signal } = new AbortController();
  const offer = await peers.offer({ iceServers: [], trickle: true, signal });
  const accepted = Promise.withResolvers<RtcPeer>();
  const told = Promise.withResolvers<void>();
  const stop = new AbortController();
  const ended = new Promise<void>((resolve) => stop.signal.onabort = () => resolve());
  let streams = 0;
  const client = {
    async *answer() {
      if (streams++ > 0) return await ended;
      const sdp = encodeSdp({ type: "offer", sdp: offer.sdp });
      const init = create(AnswerRequestInitStageSchema, { sdp });
      yield { uuid: "u", stage: { case: "init", value: init } };
      yield { uuid: "u", stage: { case: "update", value: { candidate: { candidate: "c" } } } };
      await accepted.promise;
      yield { uuid: "u", stage: { case: "error", value: { status: { code: 13, message: "?" } } } };
      told.resolve();
    },
  } as unknown as AnswererOptions["client"];
  const clock = new FakeClock();
  const running = new Answerer({
    client,
    hosts: ["m"],
    peers,
    accept: accepted.resolve,
    clock,
    log: memoryLogger(),
    random: () => 0.5,
  }).run(stop.signal);
  await accepted.promise;
  await told.promise;
  await clock.advance(20_000);
  assert.equal(peers.made[1]?.isOpen, true);
  stop.abort();
  await running;
});

Deno.test("Answerer closes a connection that nobody takes, and goes on", async () => {
  let taken = 0;
  await using rig = await Rig.start({
    accept: () => {
      if (taken++ === 0) throw new Error("no place");
    },
  });
  await rig.waiting();
  await rig.call();
  await waitFor(() => rig.peers.made[1]?.isClosed, SOON);
  await rig.waiting();
  await rig.call();
  await waitFor(() => taken === 2, SOON);
});

Deno.test("Answerer takes a stream for dead that brings no heartbeats any more", async () => {
  const clock = new FakeClock();
  let opened = 0;
  let beats = 1;
  const client = {
    async *answer(_requests: unknown, { signal }: { signal: AbortSignal }) {
      opened++;
      for (let at = 0; at < beats; at++) {
        yield { uuid: "", stage: { case: "heartbeat", value: {} } };
      }
      await new Promise((_, reject) => {
        signal.addEventListener("abort", () => reject(signal.reason));
        if (signal.aborted) reject(signal.reason);
      });
    },
  } as unknown as AnswererOptions["client"];
  const stop = new AbortController();
  const log = memoryLogger();
  const running = new Answerer({
    client,
    hosts: ["m"],
    peers: new FakePeers(),
    accept: () => {},
    clock,
    log,
    random: () => 0.5,
  }).run(stop.signal);
  await clock.advance(44_999);
  assert.equal(opened, 2);
  beats = 0;
  await clock.advance(1);
  await clock.advance(1_000);
  assert.equal(opened, 4);
  assert.match(JSON.stringify(log.entries), /no heartbeat for 45 s/);
  // The new ones bring none at all: they are closed once, then left alone.
  await clock.advance(46_000);
  assert.equal(opened, 6);
  await clock.advance(600_000);
  assert.equal(opened, 6);
  stop.abort();
  await running;
});

Deno.test("Answerer waits longer from failure to failure, 30 s at most", async () => {
  const clock = new FakeClock();
  const at: number[] = [];
  const client = {
    // deno-lint-ignore require-yield
    async *answer() {
      at.push(clock.monotonicMs());
      throw new ConnectError("refused", Code.Unavailable);
    },
  } as unknown as AnswererOptions["client"];
  const stop = new AbortController();
  const log = memoryLogger();
  const running = new Answerer({
    client,
    hosts: ["m"],
    peers: new FakePeers(),
    accept: () => {},
    clock,
    log,
    random: () => 0.999,
  }).run(stop.signal);
  await clock.advance(180_000);
  stop.abort();
  await running;
  const own = at.filter((_, index) => index % 2 === 0);
  const waits = own.slice(1).map((ms, index) => Math.round((ms - (own[index] ?? 0)) / 1_000));
  assert.deepEqual(waits.slice(0, 7), [1, 2, 4, 8, 16, 30, 30]);
  assert.equal(log.messages("warn").length, 1);
});

Deno.test("Answerer waits only a second again after something came", async () => {
  const clock = new FakeClock();
  const at: number[] = [];
  const client = {
    async *answer() {
      at.push(clock.monotonicMs());
      if (at.length === 9) yield { uuid: "", stage: { case: "init", value: { sdp: "" } } };
      throw new ConnectError("refused", Code.Unavailable);
    },
  } as unknown as AnswererOptions["client"];
  const stop = new AbortController();
  const running = new Answerer({
    client,
    hosts: ["m"],
    peers: new FakePeers(),
    accept: () => {},
    clock,
    log: memoryLogger(),
    random: () => 0.999,
  }).run(stop.signal);
  await clock.advance(60_000);
  stop.abort();
  await running;
  // The ninth stream brings a call at 15 s; the next one is opened at once, and one a second later.
  const seconds = at.map((ms) => Math.round(ms / 1_000));
  assert.deepEqual(seconds.slice(0, 13), [0, 0, 1, 1, 3, 3, 7, 7, 15, 15, 15, 16, 18]);
});

Deno.test("callPeer() gives on what the signaller answers", async () => {
  await using rig = await Rig.start();
  const unknown = await failure(rig.call("web", { host: "unknown" }));
  assert.deepEqual(
    [unknown.code, unknown.rawMessage],
    [Code.InvalidArgument, "host not preconfigured"],
  );
});
