import { Code, ConnectError } from "@connectrpc/connect";
import assert from "node:assert/strict";
import { createAuthService } from "../auth/auth_service.ts";
import { identityKey } from "../auth/identity.ts";
import { requireAuthentication } from "../auth/require_auth.ts";
import { Secret } from "../../base/redaction/secret.ts";
import { TokenIssuer } from "../auth/token_issuer.ts";
import { AuthService } from "../../gen/proto/rpc/v1/auth_pb.ts";
import { MachineService } from "../../gen/machine/cloud/v1/machine_pb.ts";
import { RobotService } from "../../gen/viam/app/v1/robot_pb.ts";
import { RobotService as MachineRobot } from "../../gen/viam/robot/v1/robot_pb.ts";
import { memoryLogger } from "../../log/memory_logger_testing.ts";
import { RpcRouter } from "../../rpc/server/router.ts";
import { RpcServer } from "../../rpc/server/server.ts";
import { CloudConnection } from "./connection.ts";

interface FakeCloud {
  readonly url: string;
  readonly authentications: string[];
}

async function withCloud(run: (cloud: FakeCloud) => Promise<void>): Promise<void> {
  const issuer = await TokenIssuer.create({ issuer: "cloud", audience: ["cloud"] });
  const authentications: string[] = [];
  const router = new RpcRouter()
    .service(
      AuthService,
      createAuthService({
        issuer,
        verifiers: {
          "robot-secret": (entity, payload) => {
            authentications.push(entity);
            return Promise.resolve(
              payload === "right"
                ? { entity, credentialType: "robot-secret", claims: {} }
                : undefined,
            );
          },
        },
      }),
    )
    .service(RobotService, {
      needsRestart: (_request, context) => ({ id: context.values.get(identityKey)?.entity ?? "" }),
    })
    .service(MachineService, {
      async *watch() {
        yield { event: { case: "keepalive" as const, value: {} } };
        throw new ConnectError("the secret was rotated", Code.Unauthenticated);
      },
    });
  const server = await RpcServer.start({
    router,
    listen: { hostname: "127.0.0.1", port: 0 },
    interceptors: [requireAuthentication({
      verify: (token) => issuer.verify(token),
    })],
  });
  try {
    await run({ url: `http://127.0.0.1:${server.address.port}`, authentications });
  } finally {
    await server.close({ graceMs: 100 });
  }
}

function open(url: string, payload: string, http2 = true): CloudConnection {
  return CloudConnection.open({
    http2,
    appAddress: url,
    credentials: { type: "robot-secret", entity: "part-1", payload: new Secret(payload) },
    log: memoryLogger(),
  });
}

Deno.test("client() authenticates once for many calls", async () => {
  await withCloud(async (cloud) => {
    const connection = open(cloud.url, "right");
    const robot = connection.client(RobotService);
    const answers = await Promise.all([1, 2, 3].map(() => robot.needsRestart({})));
    assert.deepEqual(answers.map((answer) => answer.id), ["part-1", "part-1", "part-1"]);
    assert.deepEqual(cloud.authentications, ["part-1"]);
    connection.close();
  });
});

Deno.test("client() does the same over gRPC-web, streams included", async () => {
  await withCloud(async (cloud) => {
    const connection = open(cloud.url, "right", false);
    assert.equal((await connection.client(RobotService).needsRestart({})).id, "part-1");
    const events: unknown[] = [];
    const watch = async () => {
      for await (const { event } of connection.client(MachineService).watch({})) {
        events.push(event.case);
      }
    };
    await assert.rejects(watch, /the secret was rotated/);
    assert.deepEqual(events, ["keepalive"]);
    assert.equal((await connection.client(RobotService).needsRestart({})).id, "part-1");
    assert.equal(cloud.authentications.length, 2);
    connection.close();
  });
});

Deno.test("client() authenticates again when the cloud no longer takes its token", async () => {
  await withCloud(async (cloud) => {
    const connection = open(cloud.url, "right");
    const robot = connection.client(RobotService);
    await robot.needsRestart({});
    const watch = Array.fromAsync(connection.client(MachineService).watch({}));
    await assert.rejects(watch, /the secret was rotated/);
    assert.equal((await robot.needsRestart({})).id, "part-1");
    assert.equal(cloud.authentications.length, 2);
    connection.close();
  });
});

Deno.test("client() says that the credentials are wrong, and tries again with the next call", async () => {
  await withCloud(async (cloud) => {
    const connection = open(cloud.url, "wrong");
    const robot = connection.client(RobotService);
    for (let i = 0; i < 2; i++) {
      await assert.rejects(
        () => robot.needsRestart({}),
        /invalid credentials of type robot-secret/,
      );
    }
    assert.equal(cloud.authentications.length, 2);
    connection.close();
  });
});

Deno.test("open() refuses to send credentials over plaintext to another host", () => {
  assert.throws(() => open("http://203.0.113.7:8080", "right"), /plaintext.*-allow-insecure-creds/);
});

for (const http2 of [true, false]) {
  const runtime = http2 ? "" : ", without native gRPC";
  Deno.test(`userAgent is what the cloud reads${runtime}`, async () => {
    const router = new RpcRouter().service(RobotService, {
      needsRestart: (_request, { requestHeader }) => ({
        id: requestHeader.get("user-agent") ?? "",
      }),
    });
    const listen = { hostname: "127.0.0.1", port: 0 };
    const server = await RpcServer.start({ router, listen, interceptors: [] });
    const connection = CloudConnection.open({
      http2,
      appAddress: `http://127.0.0.1:${server.address.port}`,
      credentials: undefined,
      userAgent: "program/1.2",
      log: memoryLogger(),
    });
    assert.match(
      (await connection.client(RobotService).needsRestart({})).id,
      /^program\/1\.2( |$)/,
    );
    connection.close();
    await server.close({ graceMs: 100 });
  });

  Deno.test(`fewValues fails calls whose answers have too many values${runtime}`, async () => {
    const empty = Array.from({ length: 300_000 }, () => ({}));
    const router = new RpcRouter()
      .service(RobotService, {
        config: () => ({ config: { components: empty } }),
        needsRestart: () => ({ id: "answered" }),
      })
      .service(MachineRobot, {
        async *streamStatus() {
          yield { status: empty };
        },
      });
    const listen = { hostname: "127.0.0.1", port: 0 };
    const server = await RpcServer.start({ router, listen, interceptors: [] });
    const { port } = server.address;
    const connection = CloudConnection.open({
      ...{ http2, fewValues: true, credentials: undefined, log: memoryLogger() },
      appAddress: `http://127.0.0.1:${port}`,
    });
    try {
      const robot = connection.client(RobotService);
      const machine = connection.client(MachineRobot);
      const calls = [
        () => robot.config({}),
        () => Array.fromAsync(machine.streamStatus({})),
      ];
      for (const call of calls) {
        const error = await call().then(() => undefined, ConnectError.from);
        assert.equal(error?.code, Code.ResourceExhausted);
        assert.match(error.message, /more than 262144 values/);
      }
      assert.equal((await robot.needsRestart({})).id, "answered");
    } finally {
      connection.close();
      await server.close({ graceMs: 100 });
    }
  });
}
