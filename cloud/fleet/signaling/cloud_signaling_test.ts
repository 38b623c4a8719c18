import assert from "node:assert/strict";
import { Code, ConnectError } from "@connectrpc/connect";
import type { BootstrapResult } from "../../local/bootstrap/bootstrap.ts";
import { AppService } from "../../../shared/gen/viam/app/v1/app_pb.ts";
import {
  type AnswerRequest,
  type CallResponse,
  SignalingService,
} from "../../../shared/gen/proto/rpc/webrtc/v1/signaling_pb.ts";
import { encodeSdp } from "../../../shared/rtc/signaling/sdp.ts";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { waitFor } from "../../../shared/base/time/wait_for.ts";
import {
  apiKey,
  type Credentials,
  failure,
  partSecret,
  TestCloud,
} from "../../serve/cloud_testing.ts";

const SDP = encodeSdp({ type: "offer", sdp: "v=0" });
const UNKNOWN = { code: Code.InvalidArgument, message: "host not preconfigured" };

function to(host: string) {
  return { headers: { "rpc-host": host } };
}

function mayCall(cloud: TestCloud, credentials: Credentials, host: string): Promise<unknown> {
  return cloud.client(SignalingService, credentials).optionalWebRTCConfig({}, to(host));
}

/** Keeps an Answer stream open and notes what comes. */
class Waiting implements AsyncDisposable {
  readonly got: AnswerRequest[] = [];
  readonly #stop = new AbortController();
  readonly ended: Promise<ConnectError | undefined>;

  constructor(cloud: TestCloud, credentials: Credentials, hosts: readonly string[]) {
    const headers = new Headers({ "heartbeats-allowed": "true" });
    for (const host of hosts) headers.append("rpc-host", host);
    const client = cloud.client(SignalingService, credentials);
    const { signal } = this.#stop;
    const requests = client.answer(never(signal), { headers, signal });
    this.ended = this.#read(requests);
  }

  async #read(requests: AsyncIterable<AnswerRequest>): Promise<ConnectError | undefined> {
    try {
      for await (const request of requests) this.got.push(request);
    } catch (error) {
      return ConnectError.from(error);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.ended;
  }
}

// deno-lint-ignore require-yield
async function* never(signal: AbortSignal): AsyncGenerator<never> {
  if (signal.aborted) return;
  await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
}

async function first(responses: AsyncIterable<CallResponse>): Promise<void> {
  for await (const _ of responses) return;
}

async function keyFor(
  cloud: TestCloud,
  made: BootstrapResult,
  authorizationId: string,
  resourceId: string,
): Promise<Credentials> {
  const resourceType = authorizationId.split("_")[0] ?? "";
  const authorizations = [{ authorizationId, resourceType, resourceId }];
  const { id, key } = await cloud.app(made).createKey({ name: "k", authorizations });
  return { type: "api-key", entity: id, payload: key };
}

async function locationSecret(cloud: TestCloud, made: BootstrapResult): Promise<Credentials> {
  const { location } = await cloud.app(made).getLocation({ locationId: made.location_id });
  const payload = location?.auth?.secrets[0]?.secret ?? "";
  return { type: "robot-location-secret", entity: made.fqdn, payload };
}

const localName = ({ fqdn }: BootstrapResult) => {
  const [label, location, ...domain] = fqdn.split(".");
  return [label, location, "local", ...domain].join(".");
};

Deno.test("SignalingService of the cloud may be called by who may operate the machine", async () => {
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  const other = await cloud.bootstrap({ machine: "other" });
  const elsewhere = await cloud.bootstrap({ location: "Attic" });
  const theirs = await cloud.bootstrap({ organization: "Other" });

  const allowed = [
    apiKey(made),
    await keyFor(cloud, made, "organization_operator", made.org_id),
    await keyFor(cloud, made, "location_operator", made.location_id),
    await keyFor(cloud, made, "robot_owner", made.machine_id),
    await keyFor(cloud, made, "robot_operator", made.machine_id),
    await locationSecret(cloud, made),
    partSecret(made),
    { type: "robot-secret", entity: made.fqdn, payload: made.part_secret },
  ];
  for (const credentials of allowed) {
    await mayCall(cloud, credentials, made.fqdn);
    await mayCall(cloud, credentials, localName(made));
  }
  const refused = [
    apiKey(theirs),
    await keyFor(cloud, made, "robot_owner", other.machine_id),
    await keyFor(cloud, made, "location_owner", elsewhere.location_id),
    await locationSecret(cloud, elsewhere),
    partSecret(other),
  ];
  for (const credentials of refused) {
    // The same as for a name that nobody has.
    assert.deepEqual(await failure(mayCall(cloud, credentials, made.fqdn)), UNKNOWN);
    assert.deepEqual(await failure(mayCall(cloud, credentials, "no.such.name")), UNKNOWN);
    const calls = cloud.client(SignalingService, credentials);
    assert.deepEqual(await failure(first(calls.call({ sdp: SDP }, to(made.fqdn)))), UNKNOWN);
    const update = { uuid: "x", update: { case: "done", value: true } } as const;
    assert.deepEqual(await failure(calls.callUpdate(update, to(made.fqdn))), UNKNOWN);
  }
  const nobody = cloud.client(SignalingService).optionalWebRTCConfig({}, to(made.fqdn));
  assert.equal((await failure(nobody)).code, Code.Unauthenticated);
});

Deno.test("SignalingService of the cloud lets a main part call the others of its machine", async () => {
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  const other = await cloud.bootstrap({ machine: "other" });
  const app = cloud.app(made);
  const { partId } = await app.newRobotPart({ robotId: made.machine_id, partName: "arm" });
  const { part: arm } = await app.getRobotPart({ id: partId });
  const ofArm = { type: "robot-secret", entity: partId, payload: arm?.secret ?? "" };
  const fqdn = arm?.fqdn ?? "";
  await mayCall(cloud, partSecret(made), fqdn);
  for (
    const [credentials, host] of [
      [ofArm, made.fqdn],
      [partSecret(other), fqdn],
      [partSecret(made), other.fqdn],
    ] as const
  ) {
    assert.deepEqual(await failure(mayCall(cloud, credentials, host)), UNKNOWN);
  }
});

Deno.test("SignalingService.Answer() of the cloud is for the machine itself and owners", async () => {
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  const other = await cloud.bootstrap({ machine: "other" });
  const { presence } = cloud.services;
  const allowed = [partSecret(made), apiKey(made)];
  for (const credentials of allowed) {
    await using _waiting = new Waiting(cloud, credentials, [made.fqdn, localName(made)]);
    await waitFor(() => presence.of(made.part_id).state === "online", { deadlineMs: 60_000 });
  }
  const operator = await keyFor(cloud, made, "robot_operator", made.machine_id);
  const refused: [Credentials, string[], Code][] = [
    [operator, [made.fqdn], Code.PermissionDenied],
    [await locationSecret(cloud, made), [made.fqdn], Code.PermissionDenied],
    [partSecret(other), [made.fqdn], Code.InvalidArgument],
    [partSecret(other), [other.fqdn, made.fqdn], Code.InvalidArgument],
  ];
  for (const [credentials, hosts, code] of refused) {
    await using waiting = new Waiting(cloud, credentials, hosts);
    assert.equal((await waiting.ended)?.code, code, `${credentials.type} ${hosts}`);
  }
  assert.equal(presence.of(other.part_id).state, "awaiting-setup");
});

Deno.test("SignalingService of the cloud tells both sides of a call its ICE servers", async () => {
  const urls = ["turn:turn.example.com"];
  await using cloud = await TestCloud.open({
    iceServers: [{ urls, secret: "north", lifetimeSeconds: 600 }],
  });
  const made = await cloud.bootstrap();
  const client = cloud.client(SignalingService, apiKey(made));
  const { config } = await client.optionalWebRTCConfig({}, to(made.fqdn));
  const [forCaller] = config?.additionalIceServers ?? [];
  assert.deepEqual(forCaller?.urls, urls);
  assert.match(forCaller.username, new RegExp(`^\\d+:${made.api_key_id}$`));

  await using waiting = new Waiting(cloud, partSecret(made), [made.fqdn]);
  const stop = new AbortController();
  const calling = failure(
    first(client.call({ sdp: SDP }, { ...to(made.fqdn), signal: stop.signal })),
  );
  await waitFor(() => waiting.got.length > 0, { deadlineMs: 60_000 });
  const [request] = waiting.got;
  assert.ok(request?.stage.case === "init");
  const [forMachine] = request.stage.value.optionalConfig?.additionalIceServers ?? [];
  assert.match(forMachine?.username ?? "", new RegExp(`^\\d+:${made.part_id}$`));
  assert.notEqual(forMachine?.credential, forCaller.credential);
  stop.abort();
  await calling;
});

Deno.test("a machine that only waits for calls is online until its stream ends", async () => {
  const clock = new FakeClock();
  await using cloud = await TestCloud.open({ clock });
  const made = await cloud.bootstrap();
  const { presence } = cloud.services;
  {
    await using waiting = new Waiting(cloud, partSecret(made), [made.fqdn]);
    await waitFor(() => presence.of(made.part_id).state === "online", { deadlineMs: 60_000 });
    for (let at = 0; at < 10; at++) {
      await clock.advance(15_000);
      await waitFor(() => waiting.got.length === at + 1, { deadlineMs: 60_000 });
    }
    assert.ok(waiting.got.every(({ stage }) => stage.case === "heartbeat"));
    assert.equal(presence.of(made.part_id).state, "online");
  }
  await clock.advance(59_000);
  assert.equal(presence.of(made.part_id).state, "online");
  await clock.advance(1_000);
  assert.equal(presence.of(made.part_id).state, "offline");
});

Deno.test("an Answer stream ends at once with the credentials behind it", async () => {
  const clock = new FakeClock();
  await using cloud = await TestCloud.open({ clock });
  const made = await cloud.bootstrap();
  const owner = await keyFor(cloud, made, "robot_owner", made.machine_id);
  await using waiting = new Waiting(cloud, owner, [made.fqdn]);
  const { presence } = cloud.services;
  await waitFor(() => presence.of(made.part_id).state === "online", { deadlineMs: 60_000 });
  await cloud.client(AppService, apiKey(made)).deleteKey({ id: owner.entity });
  await cloud.services.changes.drain();
  // At once: the clock stands still.
  assert.equal((await waiting.ended)?.code, Code.Unauthenticated);
});

Deno.test("the machine is told who calls, and the caller that the machine is offline", async () => {
  const clock = new FakeClock();
  await using cloud = await TestCloud.open({ clock });
  const made = await cloud.bootstrap();
  const call = (signal?: AbortSignal) =>
    failure(first(
      cloud.client(SignalingService, apiKey(made))
        .call({ sdp: SDP }, { ...to(localName(made)), ...(signal && { signal }) }),
    ));
  {
    await using waiting = new Waiting(cloud, partSecret(made), [made.fqdn]);
    await waitFor(() => cloud.services.presence.of(made.part_id).state === "online", {
      deadlineMs: 60_000,
    });
    const stop = new AbortController();
    const calling = call(stop.signal);
    await waitFor(() => waiting.got.length > 0, { deadlineMs: 60_000 });
    const [request] = waiting.got;
    assert.ok(request?.stage.case === "init");
    assert.equal(request.stage.value.callerAuthEntity, made.api_key_id);
    assert.deepEqual({ ...request.stage.value.callerAuthMetadata }, {
      credential_type: "api-key",
      role: "owner",
    });
    assert.deepEqual(request.stage.value.optionalConfig?.additionalIceServers, []);
    stop.abort();
    await calling;
  }
  const calling = call();
  const waited = Date.now() + 5_000;
  let offline: Awaited<typeof calling> | undefined;
  void calling.then((error) => offline = error);
  while (!offline && Date.now() < waited) await clock.advance(1_000);
  assert.equal(offline?.code, Code.NotFound);
  assert.match(offline.message, /^host appears to be offline; ensure machine is online/);
});
