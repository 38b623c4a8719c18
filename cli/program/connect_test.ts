import assert from "node:assert/strict";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { AuthService } from "../../shared/gen/proto/rpc/v1/auth_pb.ts";
import { RobotService } from "../../shared/gen/viam/robot/v1/robot_pb.ts";
import { RpcRouter } from "../../shared/rpc/server/router.ts";
import { RpcServer } from "../../shared/rpc/server/server.ts";
import { refusal } from "../../shared/rpc/reasons.ts";
import { connect } from "./connect.ts";

Deno.test("a machine at --address cannot fill the memory of who calls it", async () => {
  const resources = Array.from({ length: 300_000 }, () => ({}));
  const router = new RpcRouter()
    .service(AuthService, { authenticate: () => ({ accessToken: "token" }) })
    .service(RobotService, { resourceNames: () => ({ resources }), getVersion: () => ({}) });
  const listen = { hostname: "127.0.0.1", port: 0 };
  const server = await RpcServer.start({ router, listen, interceptors: [] });
  const address = `http://127.0.0.1:${server.address.port}`;
  await using cloud = connect({ cloud: address, key_id: "id", key: "key" });
  const machine = cloud.atMachine(address);
  try {
    const robot = createClient(RobotService, machine.transport);
    await robot.getVersion({});
    const error = await robot.resourceNames({}).then(() => undefined, ConnectError.from);
    assert.equal(error?.code, Code.ResourceExhausted);
    assert.match(error.message, /more than 262144 values/);
  } finally {
    machine.close();
    await server.close({ graceMs: 100 });
  }
});

Deno.test("what a cloud refuses with a reason is not taken for a cloud that is away", async () => {
  await using cloud = connect({ cloud: "http://127.0.0.1:1", key_id: "id", key: "key" });
  const said = "the mail server did not take the mail";
  const refused = refusal("MAIL_REFUSED", { problem: "down" }, said, Code.Unavailable);
  assert.equal(cloud.advice(refused), refused);
  const away = cloud.advice(new ConnectError("ECONNREFUSED", Code.Unavailable));
  assert.match((away as Error).message, /cannot reach a cloud at http:\/\/127\.0\.0\.1:1/);
});
