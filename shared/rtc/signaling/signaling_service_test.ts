import assert from "node:assert/strict";
import { type Client, Code, ConnectError, createClient } from "@connectrpc/connect";
import {
  type AnswerRequest,
  type AnswerResponse,
  type CallResponse,
  SignalingService,
} from "../../gen/proto/rpc/webrtc/v1/signaling_pb.ts";
import { createGrpcTransport } from "../../rpc/client/grpc_transport.ts";
import { transportOver } from "../../rpc/client/transport_over.ts";
import { Http2Channel } from "../../rpc/client/http2_channel.ts";
import { RpcRouter } from "../../rpc/server/router.ts";
import { RpcServer } from "../../rpc/server/server.ts";
import { createWebTransport } from "../../rpc/client/fallback/web_transport.ts";
import { type Clock, systemClock } from "../../base/time/clock.ts";
import { FakeClock } from "../../base/time/fake_clock.ts";
import { waitFor } from "../../base/time/wait_for.ts";
import { CallQueue } from "./call_queue.ts";
import { Outbox } from "./outbox.ts";
import { encodeSdp } from "./sdp.ts";
import type { SignalingAccess } from "./signaling_access.ts";
import { signalingService } from "./signaling_service.ts";

const OFFER = encodeSdp({ type: "offer", sdp: "the offer" });
const ANSWER = encodeSdp({ type: "answer", sdp: "the answer" });
const TO_M = { headers: { "rpc-host": "m.example" } };

type Closable = ReturnType<typeof createGrpcTransport>;

/** A signaller on a real port. The metadata `user` says who calls; `m.example` is the only host. */
class Signaller implements AsyncDisposable {
  readonly open: string[] = [];
  readonly url: string;
  refuseAnswerers: ConnectError | undefined;
  readonly #transports: Closable[] = [];

  private constructor(private readonly server: RpcServer, readonly queue: CallQueue) {
    this.url = `http://127.0.0.1:${server.address.port}`;
  }

  static async start(clock: Clock = systemClock): Promise<Signaller> {
    const queue = new CallQueue({ clock, uuid: () => crypto.randomUUID() });
    let signaller: Signaller | undefined = undefined as Signaller | undefined;
    const access: SignalingAccess = {
      callable(host, context) {
        const owner = context.requestHeader.get("user") ?? "nobody";
        const metadata = { credential_type: "api-key" };
        const found = { key: "m", caller: { owner, entity: `key of ${owner}`, metadata } };
        return Promise.resolve(host === "m.example" ? found : undefined);
      },
      answering(hosts) {
        if (hosts.some((host) => !/^m[.]/.test(host))) return Promise.resolve(undefined);
        const name = hosts.join(" ");
        return Promise.resolve({
          keys: ["m"],
          entity: "machine",
          opened() {
            signaller?.open.push(name);
            return () => void signaller?.open.splice(signaller.open.indexOf(name), 1);
          },
          check: () =>
            signaller?.refuseAnswerers
              ? Promise.reject(signaller.refuseAnswerers)
              : Promise.resolve(),
        });
      },
    };
    const iceServers = (entity: string) => [{ urls: ["turn:t.example"], username: entity }];
    const router = new RpcRouter()
      .service(SignalingService, signalingService({ queue, access, iceServers, clock }));
    const server = await RpcServer.start({ router, listen: { hostname: "127.0.0.1", port: 0 } });
    signaller = new Signaller(server, queue);
    return signaller;
  }

  grpc(): Client<typeof SignalingService> {
    return this.#client(createGrpcTransport({ baseUrl: this.url }));
  }

  web(): Client<typeof SignalingService> {
    return this.#client(createWebTransport({ baseUrl: this.url }));
  }

  lean(): Client<typeof SignalingService> {
    const channel = new Http2Channel(this.url);
    return this.#client({ ...transportOver(channel), close: () => channel.close() });
  }

  #client(transport: Closable): Client<typeof SignalingService> {
    this.#transports.push(transport);
    return createClient(SignalingService, transport);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const transport of this.#transports) transport.close();
    this.queue.close();
    await this.server.close({ graceMs: 100 });
  }
}

/** Reads a stream in the background. */
class Reading<T> implements AsyncDisposable {
  readonly got: T[] = [];
  error: ConnectError | undefined;
  ended = false;
  readonly stop = new AbortController();
  readonly #done: Promise<void>;

  constructor(open: (signal: AbortSignal) => AsyncIterable<T>) {
    this.#done = this.#read(open(this.stop.signal));
  }

  async #read(messages: AsyncIterable<T>): Promise<void> {
    try {
      for await (const message of messages) this.got.push(message);
    } catch (error) {
      this.error = ConnectError.from(error);
    }
    this.ended = true;
  }

  async has(count: number): Promise<T[]> {
    await waitFor(() => this.got.length >= count, {
      deadlineMs: 60_000,
      what: `${count} messages`,
    });
    return this.got;
  }

  async end(): Promise<ConnectError | undefined> {
    await waitFor(() => this.ended, { deadlineMs: 60_000, what: "the end of the stream" });
    return this.error;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.stop.abort();
    await this.#done;
  }
}

class Machine extends Reading<AnswerRequest> {
  readonly out: Outbox<Pick<AnswerResponse, "uuid"> & { stage: unknown }>;

  constructor(client: Client<typeof SignalingService>, headers: [string, string][]) {
    const out = new Outbox<never>();
    async function* sent(): AsyncGenerator<never> {
      for (let next = await out.next(); next !== "end"; next = await out.next()) {
        if (next !== "quiet") yield next.message;
      }
    }
    super((signal) => client.answer(sent(), { headers: new Headers(headers), signal }));
    this.out = out as never;
  }

  get cases(): (string | undefined)[] {
    return this.got.map(({ stage }) => stage.case);
  }

  get uuid(): string {
    return this.got.find(({ stage }) => stage.case === "init")?.uuid ?? "";
  }

  say(stage: Record<string, unknown> & { case: string }): void {
    this.out.put({ uuid: this.uuid, stage });
  }
}

const AS_M: [string, string][] = [["rpc-host", "m.example"]];

function call(client: Client<typeof SignalingService>, user = "ann"): Reading<CallResponse> {
  const headers = { ...TO_M.headers, user };
  return new Reading((signal) => client.call({ sdp: OFFER }, { headers, signal }));
}

async function failure(run: () => Promise<unknown>): Promise<ConnectError> {
  try {
    await run();
  } catch (error) {
    return ConnectError.from(error);
  }
  assert.fail("it did not fail");
}

for (const kind of ["grpc", "web"] as const) {
  Deno.test(`SignalingService carries a whole call for a caller over ${kind}`, async () => {
    await using signaller = await Signaller.start();
    const client = signaller[kind]();
    const before = Math.floor(Date.now() / 1_000);
    await using machine = new Machine(signaller.grpc(), AS_M);
    await using caller = call(client);
    const [offer] = await machine.has(1);
    assert.ok(offer?.stage.case === "init");
    const { sdp, optionalConfig, callerAuthEntity, callerAuthMetadata, deadline } =
      offer.stage.value;
    assert.equal(sdp, OFFER);
    assert.equal(callerAuthEntity, "key of ann");
    assert.deepEqual(callerAuthMetadata, { credential_type: "api-key" });
    assert.equal(optionalConfig?.additionalIceServers[0]?.username, "machine");
    const deadlineS = Number(deadline?.seconds);
    assert.ok(deadlineS >= before + 10 && deadlineS <= Date.now() / 1_000 + 10);

    machine.say({ case: "init", value: { sdp: ANSWER } });
    machine.say({ case: "update", value: { candidate: { candidate: "m1", sdpmLineIndex: 0 } } });
    const [init, update] = await caller.has(2);
    assert.ok(init?.stage.case === "init" && init.stage.value.sdp === ANSWER);
    assert.equal(init.uuid, machine.uuid);
    assert.ok(update?.stage.case === "update");
    assert.equal(update.stage.value.candidate?.sdpmLineIndex, 0);
    assert.equal(update.stage.value.candidate?.sdpMid, undefined);

    const to = { headers: { ...TO_M.headers, user: "ann" } };
    const candidate = { candidate: "c1", sdpMid: "", usernameFragment: "u" };
    await client.callUpdate(
      { uuid: init.uuid, update: { case: "candidate", value: candidate } },
      to,
    );
    const [, fromCaller] = await machine.has(2);
    assert.ok(fromCaller?.stage.case === "update");
    assert.equal(fromCaller.stage.value.candidate?.sdpMid, "");
    machine.say({ case: "done", value: {} });
    assert.equal(await caller.end(), undefined);
    await client.callUpdate({ uuid: init.uuid, update: { case: "done", value: true } }, to);
    assert.equal(await machine.end(), undefined);
    assert.deepEqual(machine.cases, ["init", "update", "done"]);
    assert.deepEqual([signaller.queue.callCount, signaller.queue.hostCount], [0, 0]);
    await waitFor(() => signaller.open.length === 0, { deadlineMs: 60_000 });
  });
}

Deno.test("SignalingService is answered over our own HTTP/2 too, under several names", async () => {
  await using signaller = await Signaller.start();
  await using machine = new Machine(signaller.lean(), [
    ["rpc-host", "m.example"],
    ["rpc-host", "m.local.example"],
  ]);
  await waitFor(() => signaller.open[0] === "m.example m.local.example", { deadlineMs: 60_000 });
  await using caller = call(signaller.grpc());
  await machine.has(1);
  machine.say({ case: "init", value: { sdp: ANSWER } });
  machine.say({ case: "done", value: {} });
  assert.equal((await caller.has(1))[0]?.stage.case, "init");
  assert.equal(await caller.end(), undefined);
});

Deno.test("SignalingService says what is wrong with rpc-host and with names it does not know", async () => {
  await using signaller = await Signaller.start();
  const client = signaller.grpc();
  const ask = (host: string | undefined) =>
    failure(() => client.optionalWebRTCConfig({}, { headers: host ? { "rpc-host": host } : {} }));
  const missing = await ask(undefined);
  assert.equal(missing.code, Code.InvalidArgument);
  assert.match(missing.rawMessage, /rpc-host is missing/);
  assert.match((await ask("m.example,n.example")).rawMessage, /names 2 hosts; at most 1/);
  const unknown = await ask("n.example");
  assert.deepEqual(
    [unknown.code, unknown.rawMessage],
    [Code.InvalidArgument, "host not preconfigured"],
  );
  await using machine = new Machine(client, [["rpc-host", "m.example"], ["rpc-host", "n.example"]]);
  assert.equal((await machine.end())?.rawMessage, "host not preconfigured");
  const six = Array.from({ length: 6 }, (_, at): [string, string] => ["rpc-host", `m.${at}`]);
  await using crowd = new Machine(client, six);
  assert.match((await crowd.end())?.rawMessage ?? "", /names 6 hosts; at most 5/);
});

Deno.test("SignalingService.OptionalWebRTCConfig() tells the caller's own credentials", async () => {
  await using signaller = await Signaller.start();
  const to = { headers: { ...TO_M.headers, user: "ann" } };
  const { config } = await signaller.web().optionalWebRTCConfig({}, to);
  assert.equal(config?.disableTrickle, false);
  assert.deepEqual(
    config?.additionalIceServers.map(({ urls, username }) => [urls, username]),
    [[["turn:t.example"], "key of ann"]],
  );
});

Deno.test("SignalingService.Call() refuses what is no offer", async () => {
  await using signaller = await Signaller.start();
  for (const sdp of ["", "%%%", ANSWER]) {
    await using caller = new Reading((signal) =>
      signaller.grpc().call({ sdp }, { ...TO_M, signal })
    );
    assert.equal((await caller.end())?.code, Code.InvalidArgument);
  }
  assert.equal(signaller.queue.callCount, 0);
});

Deno.test("SignalingService.CallUpdate() takes only the caller's own calls", async () => {
  await using signaller = await Signaller.start();
  const client = signaller.grpc();
  await using machine = new Machine(signaller.grpc(), AS_M);
  await using _caller = call(client, "ann");
  await machine.has(1);
  const update = { case: "done", value: true } as const;
  for (const [uuid, user] of [[machine.uuid, "bob"], ["nonsense", "ann"]]) {
    const headers = { ...TO_M.headers, user: user ?? "" };
    const error = await failure(() => client.callUpdate({ uuid: uuid ?? "", update }, { headers }));
    assert.equal(error.code, Code.NotFound);
  }
  const headers = { ...TO_M.headers, user: "ann" };
  const nothing = await failure(() => client.callUpdate({ uuid: machine.uuid }, { headers }));
  assert.equal(nothing.code, Code.InvalidArgument);
});

for (
  const [kind, isAnswered] of [["grpc", false], ["grpc", true], ["web", false], [
    "web",
    true,
  ]] as const
) {
  const when = `${isAnswered ? "after" : "before"} the answer`;
  Deno.test(`SignalingService tells the machine when its caller over ${kind} goes away ${when}`, async () => {
    await using signaller = await Signaller.start();
    await using machine = new Machine(signaller.grpc(), AS_M);
    await using caller = call(signaller[kind]());
    await machine.has(1);
    if (isAnswered) {
      machine.say({ case: "init", value: { sdp: ANSWER } });
      await caller.has(1);
    }
    caller.stop.abort();
    const [, last] = await machine.has(2);
    assert.ok(last?.stage.case === "error");
    assert.equal(last.stage.value.status?.code, Code.Canceled);
    assert.equal(await machine.end(), undefined);
    assert.equal(signaller.queue.callCount, 0);
  });
}

Deno.test("SignalingService tells the machine the error of its caller", async () => {
  await using signaller = await Signaller.start();
  const client = signaller.grpc();
  await using machine = new Machine(signaller.grpc(), AS_M);
  await using caller = call(client);
  await machine.has(1);
  const value = { code: Code.Internal, message: "no way" };
  const headers = { ...TO_M.headers, user: "ann" };
  await client.callUpdate({ uuid: machine.uuid, update: { case: "error", value } }, { headers });
  const [, last] = await machine.has(2);
  assert.ok(last?.stage.case === "error" && last.stage.value.status?.message === "no way");
  assert.equal((await caller.end())?.code, Code.Internal);
});

Deno.test("SignalingService tells the caller at once when the machine goes away", async () => {
  await using signaller = await Signaller.start();
  await using machine = new Machine(signaller.grpc(), AS_M);
  await using caller = call(signaller.grpc());
  await machine.has(1);
  machine.stop.abort();
  assert.equal((await caller.end())?.code, Code.Unavailable);
  await waitFor(() => signaller.open.length === 0, { deadlineMs: 60_000 });
});

Deno.test("SignalingService tells the caller why the machine cannot answer", async () => {
  await using signaller = await Signaller.start();
  await using machine = new Machine(signaller.grpc(), AS_M);
  await using caller = call(signaller.grpc());
  await machine.has(1);
  machine.say({ case: "error", value: { status: { code: 8, message: "64 are connected" } } });
  const error = await caller.end();
  assert.deepEqual([error?.code, error?.rawMessage], [8, "64 are connected"]);
  assert.equal(await machine.end(), undefined);
});

Deno.test("SignalingService ends a call whose machine says nonsense", async () => {
  for (
    const stage of [
      { case: "init", value: { sdp: "%%%" } },
      { case: "init", value: { sdp: OFFER } },
      { case: "update", value: {} },
      { case: "done", value: {} },
    ]
  ) {
    await using signaller = await Signaller.start();
    await using machine = new Machine(signaller.grpc(), AS_M);
    await using caller = call(signaller.grpc());
    await machine.has(1);
    machine.say(stage);
    assert.ok(await caller.end(), JSON.stringify(stage));
    await machine.end();
  }
});

Deno.test("SignalingService sends heartbeats to those that know them, and looks at all again", async () => {
  const clock = new FakeClock();
  await using signaller = await Signaller.start(clock);
  await using beaten = new Machine(signaller.grpc(), [...AS_M, ["heartbeats-allowed", "true"]]);
  await using plain = new Machine(signaller.grpc(), AS_M);
  await waitFor(() => signaller.open.length === 2, { deadlineMs: 60_000 });
  await clock.advance(15_000);
  await beaten.has(1);
  await clock.advance(15_000);
  await beaten.has(2);
  assert.deepEqual(beaten.cases, ["heartbeat", "heartbeat"]);
  assert.deepEqual(plain.cases, []);
  signaller.refuseAnswerers = new ConnectError("revoked", Code.Unauthenticated);
  await clock.advance(15_000);
  assert.equal((await beaten.end())?.code, Code.Unauthenticated);
  assert.equal((await plain.end())?.code, Code.Unauthenticated);
  assert.equal(signaller.open.length, 0);
});

Deno.test("SignalingService ends its streams when the signaller closes", async () => {
  await using signaller = await Signaller.start();
  await using machine = new Machine(signaller.grpc(), AS_M);
  await waitFor(() => signaller.open.length === 1, { deadlineMs: 60_000 });
  signaller.queue.close();
  assert.equal((await machine.end())?.code, Code.Unavailable);
  await using caller = call(signaller.grpc());
  assert.equal((await caller.end())?.code, Code.Unavailable);
});

Deno.test("SignalingService.ReportConnectionMetadata() is taken", async () => {
  await using signaller = await Signaller.start();
  await signaller.grpc().reportConnectionMetadata({ durationMs: 12 }, TO_M);
});

Deno.test("SignalingService may be called from pages of any origin, with credentials", async () => {
  await using signaller = await Signaller.start();
  const url = `${signaller.url}/proto.rpc.webrtc.v1.SignalingService/Call`;
  const preflight = await fetch(url, {
    method: "OPTIONS",
    headers: {
      "origin": "https://page.example",
      "access-control-request-method": "POST",
      "access-control-request-headers": "rpc-host",
    },
  });
  await preflight.body?.cancel();
  assert.equal(preflight.headers.get("access-control-allow-origin"), "https://page.example");
  assert.equal(preflight.headers.get("access-control-allow-credentials"), "true");
  assert.match(preflight.headers.get("access-control-allow-headers") ?? "", /\brpc-host\b/);
});
