import assert from "node:assert/strict";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { createGrpcWebTransport } from "@connectrpc/connect-web";
import { MotorService } from "../../shared/gen/viam/component/motor/v1/motor_pb.ts";
import { SensorService } from "../../shared/gen/viam/component/sensor/v1/sensor_pb.ts";
import { RobotService } from "../../shared/gen/viam/robot/v1/robot_pb.ts";
import { signIn } from "../../tools/run/cloud_api.ts";
import { startMicro } from "./micro_machine.ts";
import { eventually, rigTest } from "./rig.ts";

const COMPONENTS = [
  { name: "fake", api: "rdk:component:sensor", model: "rdk:builtin:fake" },
  { name: "wheel", api: "rdk:component:motor", model: "rdk:builtin:fake" },
];

rigTest("machine-micro-server answers Connect and gRPC-web for holders of keys", async (rig) => {
  await rig.startCloud();
  await rig.saveConfig({ components: COMPONENTS });
  using micro = await startMicro(rig);
  const url = `http://127.0.0.1:${micro.port}`;
  const key = { id: rig.bootstrapped.api_key_id, key: rig.bootstrapped.api_key };
  await micro.waitForLine("applied revision");
  assert.match(
    await (await fetch(url, { signal: AbortSignal.timeout(60_000) })).text(),
    /^machine-micro-server/,
  );

  await eventually("signed in", () => signIn(url, key));
  const session = await signIn(url, key);
  const { resources } = await session.client(RobotService).resourceNames({});
  assert.deepEqual(resources.map(({ name }) => name).sort(), ["fake", "wheel"]);
  const { readings } = await session.client(SensorService).getReadings({ name: "fake" });
  assert.equal(readings["a"]?.kind.value, 1);
  await session.client(MotorService).goFor({ name: "wheel", rpm: 6000, revolutions: 1 });
  const { position } = await session.client(MotorService).getPosition({ name: "wheel" });
  assert.equal(position, 1);

  const web = createGrpcWebTransport({
    baseUrl: url,
    interceptors: [(next) => (request) => {
      request.header.set("authorization", `Bearer ${session.accessToken}`);
      return next(request);
    }],
  });
  const status = await createClient(RobotService, web).getMachineStatus({});
  assert.equal(status.resources.length, 2);
  await assert.rejects(
    createClient(SensorService, web).getReadings({ name: "nothing" }),
    (error) => error instanceof ConnectError && error.code === Code.NotFound,
  );

  // Keys and tokens that are none, and calls without any.
  const wrong = { ...key, key: "wrong" };
  await assert.rejects(signIn(url, wrong), /unauthenticated|invalid/i);
  const anonymous = await fetch(`${url}/viam.robot.v1.RobotService/ResourceNames`, {
    signal: AbortSignal.timeout(60_000),
    method: "POST",
    headers: { "content-type": "application/json" },
    body: "{}",
  });
  assert.equal(anonymous.status, 401);
  assert.equal((await anonymous.json()).code, "unauthenticated");
});

rigTest("a key that the cloud checked opens the machine without the cloud", async (rig) => {
  const cloud = await rig.startCloud();
  await rig.saveConfig({ components: COMPONENTS });
  const key = { id: rig.bootstrapped.api_key_id, key: rig.bootstrapped.api_key };
  let token = "";
  {
    using micro = await startMicro(rig);
    const url = `http://127.0.0.1:${micro.port}`;
    await micro.waitForLine("applied revision");
    token = (await eventually("signed in", () => signIn(url, key))).accessToken;
  }
  await cloud.stop(5_000);
  using micro = await startMicro(rig);
  const url = `http://127.0.0.1:${micro.port}`;
  const { client } = await signIn(url, key);
  assert.equal((await client(RobotService).resourceNames({})).resources.length, 2);
  const again = await fetch(`${url}/viam.robot.v1.RobotService/GetVersion`, {
    signal: AbortSignal.timeout(60_000),
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${token}` },
    body: "{}",
  });
  assert.equal(again.status, 200, "tokens stay valid over restarts");
  await assert.rejects(signIn(url, { ...key, key: "wrong" }), /unavailable/);
});
