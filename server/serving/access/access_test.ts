import type { DescMethod } from "@bufbuild/protobuf";
import { Code, ConnectError, createClient, createContextValues } from "@connectrpc/connect";
import assert from "node:assert/strict";
import { type Identity, identityKey } from "../../../shared/cloud/auth/identity.ts";
import { hashKey } from "../../../shared/cloud/auth/key_hash.ts";
import { Secret } from "../../../shared/base/redaction/secret.ts";
import { hashSecret } from "../../../shared/cloud/auth/secret_hash.ts";
import { emptyMachineConfig } from "../../../shared/config/machine_config.ts";
import { Health } from "../../../shared/gen/grpc/health/v1/health_pb.ts";
import { AuthService } from "../../../shared/gen/proto/rpc/v1/auth_pb.ts";
import { SensorService } from "../../../shared/gen/viam/component/sensor/v1/sensor_pb.ts";
import { RobotService } from "../../../shared/gen/viam/robot/v1/robot_pb.ts";
import { createInProcessTransport } from "../../../shared/rpc/server/in_process.ts";
import type { Call, Interceptor } from "../../../shared/rpc/server/interceptor.ts";
import { RpcRouter } from "../../../shared/rpc/server/router.ts";
import type { Role } from "../../../shared/rights/roles.ts";
import { AccessControl } from "./access_control.ts";
import { verifyCredential } from "./access_rules.ts";
import { type CloudAccess, NO_CLOUD_ACCESS } from "./cloud_access.ts";
import { accessRules } from "./rules_from_config.ts";

const credentials = {
  appAddress: "http://127.0.0.1:1",
  partId: "part-1",
  credentials: {
    type: "robot-secret" as const,
    entity: "part-1",
    payload: new Secret("part-secret"),
  },
};

/** What a cloud reports of keys, by id. */
function told(hashes: Record<string, string>, role: Role = "owner"): CloudAccess {
  const keys = Object.entries(hashes).map(([id, hash]) => [id, { hash, role }] as const);
  return { ...NO_CLOUD_ACCESS, keys: new Map(keys) };
}

function setUp() {
  const access = new AccessControl();
  const router = new RpcRouter()
    .service(AuthService, access.authService)
    .service(SensorService, { getReadings: () => ({ readings: {} }) });
  const transport = createInProcessTransport(router, { interceptors: [access.interceptor] });
  const auth = createClient(AuthService, transport);
  const sensor = createClient(SensorService, transport);
  const signIn = async (type: string, entity: string, payload: string) =>
    (await auth.authenticate({ entity, credentials: { type, payload } })).accessToken;
  const read = (token?: string) =>
    sensor.getReadings({}, { headers: token ? { authorization: `Bearer ${token}` } : {} });
  return { access, signIn, read };
}

Deno.test("AccessControl lets everybody in when nothing is configured", async () => {
  const { access, signIn, read } = setUp();
  access.setRules(accessRules({
    config: emptyMachineConfig(),
    credentials: undefined,
    cloudAccess: told({ k: "h" }),
  }));
  await read();
  await assert.rejects(() => signIn("api-key", "k", "x"), /unimplemented.*no authentication/);
});

Deno.test("AccessControl takes short messages only for calls that never need a token", () => {
  const { access } = setUp();
  const limits = (method: DescMethod) => {
    const service = method.parent;
    const found: number[] = [];
    const call = {
      ...{ service, method, path: `/${service.typeName}/${method.name}` },
      values: createContextValues(),
      limitMessages: (bytes: number) => void found.push(bytes),
    };
    access.interceptor.before!(call as unknown as Call);
    return found;
  };
  for (const auth of [undefined, { handlers: [{ type: "api-key", config: {} }] }]) {
    const config = { ...emptyMachineConfig(), ...(auth && { auth }) };
    access.setRules(
      accessRules({ config, credentials: undefined, cloudAccess: NO_CLOUD_ACCESS }),
    );
    assert.equal(access.rules.required, auth !== undefined);
    if (!auth) assert.deepEqual(limits(RobotService.method.getVersion), []);
    for (const method of [AuthService.method.authenticate, Health.method.check]) {
      assert.deepEqual(limits(method), [64 * 1024], method.name);
    }
  }
});

Deno.test("AccessControl accepts the keys of a local configuration and nothing else", async () => {
  const { access, signIn, read } = setUp();
  const handlers = [{ type: "api-key", config: { k1: "right", keys: ["k1"] } }];
  access.setRules(accessRules({
    config: { ...emptyMachineConfig(), auth: { handlers } },
    credentials: undefined,
    cloudAccess: NO_CLOUD_ACCESS,
  }));
  await assert.rejects(() => read(), /unauthenticated/);
  await assert.rejects(() => read("not-a-token"), /unauthenticated/);
  await assert.rejects(
    () => signIn("api-key", "k1", "wrong"),
    /invalid credentials of type api-key/,
  );
  await assert.rejects(() => signIn("api-key", "keys", "k1"), /unauthenticated/);
  await read(await signIn("api-key", "k1", "right"));
});

Deno.test("AccessControl of a machine with a cloud accepts keys, part and location secrets", async () => {
  const { access, signIn, read } = setUp();
  const hash = await hashKey("right");
  const cloud = {
    fqdn: "m.cloud",
    local_fqdn: "m.local.cloud",
    location_secrets: [{ id: "1", secret: "loc-1" }, { id: "2", secret: "loc-2" }],
  };
  access.setRules(accessRules({
    config: { ...emptyMachineConfig(), cloud },
    credentials,
    cloudAccess: told({ k1: hash }),
  }));
  await assert.rejects(() => read(), /unauthenticated/);
  for (
    const [type, entity, payload] of [
      ["api-key", "k1", "right"],
      ["robot-secret", "part-1", "part-secret"],
      ["robot-secret", "m.cloud", "part-secret"],
      ["robot-location-secret", "m.local.cloud", "loc-1"],
      ["robot-location-secret", "m.cloud", "loc-2"],
    ] as const
  ) await read(await signIn(type, entity, payload));
  for (
    const [type, entity, payload] of [
      ["api-key", "k2", "right"],
      ["robot-secret", "part-2", "part-secret"],
      ["robot-secret", "part-1", "loc-1"],
      ["robot-location-secret", "elsewhere", "loc-1"],
    ] as const
  ) await assert.rejects(() => signIn(type, entity, payload), /invalid credentials of type/);
});

Deno.test("AccessControl ends a token when its key is gone or changed", async () => {
  const { access, signIn, read } = setUp();
  const rules = (keys: Record<string, string>) =>
    access.setRules(
      accessRules({ config: emptyMachineConfig(), credentials, cloudAccess: told(keys) }),
    );
  const hash = await hashKey("right");
  rules({ k1: hash });
  const token = await signIn("api-key", "k1", "right");
  await read(token);
  rules({ k1: hash, k2: hash });
  await read(token);
  rules({ k1: await hashKey("right") });
  await assert.rejects(() => read(token), /no longer accepted/);
  rules({});
  await assert.rejects(() => read(token), /no longer accepted/);
});

Deno.test("AccessControl ends a token when the secret behind it was rotated", async () => {
  const { access, signIn, read } = setUp();
  const rules = (partSecret: string, locationSecret: string) =>
    access.setRules(accessRules({
      config: {
        ...emptyMachineConfig(),
        cloud: { fqdn: "m.cloud", location_secrets: [{ id: "1", secret: locationSecret }] },
      },
      credentials: {
        ...credentials,
        credentials: { ...credentials.credentials, payload: new Secret(partSecret) },
      },
      cloudAccess: NO_CLOUD_ACCESS,
    }));
  rules("old-part", "old-location");
  const part = await signIn("robot-secret", "part-1", "old-part");
  const location = await signIn("robot-location-secret", "m.cloud", "old-location");
  rules("old-part", "new-location");
  await read(part);
  await assert.rejects(() => read(location), /no longer accepted/);
  rules("new-part", "new-location");
  await assert.rejects(() => read(part), /no longer accepted/);
});

Deno.test("AccessControl ends a caller whom the cloud let in with the key it came with", async () => {
  const { access } = setUp();
  const hash = await hashKey("right");
  const rules = (...ids: string[]) =>
    access.setRules(accessRules({
      config: emptyMachineConfig(),
      credentials,
      cloudAccess: told(Object.fromEntries(ids.map((id) => [id, hash]))),
    }));
  rules("k1", "k2");
  const [holder, other, unknown] = ["k1", "k2", "somebody"].map((entity) =>
    access.vouchedByCloud(entity)
  );
  const standing = () => [holder, other, unknown].map((identity) => access.stands(identity));
  assert.deepEqual(standing(), [true, true, true]);
  rules("k1", "k2", "k3");
  assert.deepEqual(standing(), [true, true, true]);
  // The cloud takes back a key; whose it was that is unknown here must sign in again.
  rules("k1", "k3");
  assert.deepEqual(standing(), [true, false, false]);
  assert.equal(access.stands(undefined), false);
});

Deno.test("AccessControl checks the identity of a connection at each call", async () => {
  const { access } = setUp();
  const hash = await hashKey("right");
  const rules = (keys: Record<string, string>) =>
    access.setRules(
      accessRules({ config: emptyMachineConfig(), credentials, cloudAccess: told(keys) }),
    );
  rules({ k1: hash });
  const identity = access.vouchedByCloud("k1");
  const carried: Interceptor = { before: (call) => void call.values.set(identityKey, identity) };
  const router = new RpcRouter().service(SensorService, { getReadings: () => ({ readings: {} }) });
  const interceptors = [carried, access.interceptor];
  const sensor = createClient(SensorService, createInProcessTransport(router, { interceptors }));
  await sensor.getReadings({});
  rules({});
  await assert.rejects(() => sensor.getReadings({}), /unauthenticated.*no longer accepted/);
});

/** A server with a shutdown and a stream, for callers with an identity of their own. */
function robotOf(access: AccessControl, identity: Identity) {
  const carried: Interceptor = { before: (call) => void call.values.set(identityKey, identity) };
  const streaming = Promise.withResolvers<void>();
  const router = new RpcRouter().service(RobotService, {
    shutdown: () => ({}),
    getVersion: () => ({}),
    async *streamStatus(_request, { signal }) {
      yield {};
      streaming.resolve();
      await new Promise((_, reject) => {
        signal.addEventListener("abort", () => reject(signal.reason), { once: true });
      });
    },
  });
  const transport = createInProcessTransport(router, {
    interceptors: [carried, access.interceptor],
  });
  return { robot: createClient(RobotService, transport), streaming: streaming.promise };
}

Deno.test("AccessControl holds each credential to its role", async () => {
  const { access, signIn } = setUp();
  const hash = await hashKey("right");
  const config = {
    ...emptyMachineConfig(),
    cloud: { fqdn: "m.cloud" },
    auth: { handlers: [{ type: "api-key", config: { o1: "right", local: "right" } }] },
  };
  const key = (role: Role) => ({ hash, role });
  access.setRules(accessRules({
    config,
    credentials,
    cloudAccess: {
      keys: new Map([["o1", key("operator")], ["o2", key("owner")]]),
      partSecrets: [hashSecret("second", "part-1 s2")],
      locationSecrets: [hashSecret("loc-1", "part-1 s3")],
    },
  }));
  const expected = [
    ["api-key", "o1", "right", "operator"],
    ["api-key", "o2", "right", "owner"],
    ["api-key", "local", "right", "owner"],
    ["robot-secret", "part-1", "part-secret", "owner"],
    ["robot-secret", "m.cloud", "second", "owner"],
    ["robot-location-secret", "m.cloud", "loc-1", "operator"],
  ] as const;
  for (const [type, entity, payload, role] of expected) {
    await signIn(type, entity, payload);
    const identity = await verifyCredential(access.rules, type, entity, payload);
    assert.ok(identity);
    const { robot } = robotOf(access, identity);
    await robot.getVersion({});
    const shutdown = await robot.shutdown({}).then(() => "owner", ConnectError.from);
    if (shutdown instanceof ConnectError) {
      assert.equal(shutdown.code, Code.PermissionDenied);
      assert.match(shutdown.rawMessage, /Shutdown is for owners of this machine/);
    }
    assert.equal(shutdown instanceof ConnectError ? "operator" : shutdown, role, entity);
  }
  await assert.rejects(() => signIn("robot-location-secret", "m.cloud", "second"), /invalid/);
});

Deno.test("AccessControl takes the cloud's word on what a caller is", async () => {
  const { access } = setUp();
  const rules = (cloudAccess: CloudAccess) =>
    access.setRules(accessRules({ config: emptyMachineConfig(), credentials, cloudAccess }));
  const isOwner = (identity: Identity) =>
    robotOf(access, identity).robot.shutdown({}).then(() => true, () => false);
  rules(NO_CLOUD_ACCESS);
  assert.equal(await isOwner(access.vouchedByCloud("k")), true, "a cloud that knows no roles");
  rules(told({ k: await hashKey("right") }, "operator"));
  assert.equal(await isOwner(access.vouchedByCloud("k")), false);
  assert.equal(await isOwner(access.vouchedByCloud("k", "owner")), false, "the key's role counts");
  assert.equal(await isOwner(access.vouchedByCloud("somebody")), false);
  assert.equal(await isOwner(access.vouchedByCloud("somebody", "owner")), true);
});

Deno.test("AccessControl ends running calls of who loses the right to them, and those alone", async () => {
  const { access } = setUp();
  const hash = await hashKey("right");
  const rules = (hashes: Record<string, string>) =>
    access.setRules(accessRules({
      config: emptyMachineConfig(),
      credentials,
      cloudAccess: told(hashes, "operator"),
    }));
  rules({ k1: hash, k2: hash });
  const [first, second] = ["k1", "k2"].map((id) => robotOf(access, access.vouchedByCloud(id)));
  assert.ok(first && second);
  const ended = (async () => {
    for await (const _ of first.robot.streamStatus({})) continue;
  })().then(() => undefined, (error) => ConnectError.from(error).code);
  const stop = new AbortController();
  let isOpen = true;
  const other = (async () => {
    for await (const _ of second.robot.streamStatus({}, { signal: stop.signal })) continue;
  })().catch(() => isOpen = false);
  await Promise.all([first.streaming, second.streaming]);
  rules({ k2: hash });
  assert.equal(await ended, Code.Unauthenticated);
  assert.equal(isOpen, true);
  stop.abort();
  await other;
});
