/** The whole server over real sockets and files, with a cloud that the test scripts. */
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { durationFromMs } from "@bufbuild/protobuf/wkt";
import { createClient, type Transport } from "@connectrpc/connect";
import assert from "node:assert/strict";
import { hashKey } from "../../../shared/cloud/auth/key_hash.ts";
import {
  MachineService,
  type ReportStatusRequest,
  WatchResponseSchema,
} from "../../../shared/gen/machine/cloud/v1/machine_pb.ts";
import { AuthService } from "../../../shared/gen/proto/rpc/v1/auth_pb.ts";
import {
  type DataCaptureUploadRequest,
  DataSyncService,
} from "../../../shared/gen/viam/app/datasync/v1/data_sync_pb.ts";
import {
  RobotConfigSchema,
  RobotService as CloudRobotService,
} from "../../../shared/gen/viam/app/v1/robot_pb.ts";
import { SensorService } from "../../../shared/gen/viam/component/sensor/v1/sensor_pb.ts";
import { RobotService } from "../../../shared/gen/viam/robot/v1/robot_pb.ts";
import { RpcRouter } from "../../../shared/rpc/server/router.ts";
import { RpcServer } from "../../../shared/rpc/server/server.ts";
import { waitFor } from "../../../shared/base/time/wait_for.ts";
import { freePort } from "../../../shared/test_tools/free_port.ts";
import { Machine } from "./testing.ts";

const PART = "3f2c1a5e-0000-4000-8000-000000000001";
const DEADLINE = { deadlineMs: 60_000 };

type ConfigInit = MessageInitShape<typeof RobotConfigSchema>;
type WatchInit = MessageInitShape<typeof WatchResponseSchema>;

/** A cloud with one part. */
class ScriptedCloud {
  config: ConfigInit = {};
  keys = new Map<string, string>();
  polls = 0;
  readonly reports: ReportStatusRequest[] = [];
  readonly logs: string[] = [];
  readonly captures: DataCaptureUploadRequest[] = [];
  #push: ((event: WatchInit) => void) | undefined;

  private constructor(readonly server: RpcServer) {}

  static async start(port = freePort()): Promise<ScriptedCloud> {
    const router = new RpcRouter();
    const server = await RpcServer.start({ router, listen: { hostname: "127.0.0.1", port } });
    const cloud = new ScriptedCloud(server);
    router.service(AuthService, { authenticate: () => ({ accessToken: "t" }) });
    router.service(CloudRobotService, {
      config: () => {
        cloud.polls++;
        return { config: create(RobotConfigSchema, cloud.config) };
      },
      log: ({ logs }) => {
        cloud.logs.push(...logs.map(({ message }) => message));
        return {};
      },
    });
    router.service(DataSyncService, {
      dataCaptureUpload: (capture) => {
        cloud.captures.push(capture);
        return { fileId: String(cloud.captures.length) };
      },
    });
    router.service(MachineService, {
      listAccessKeys: () => ({ keys: [...cloud.keys].map(([id, hash]) => ({ id, hash })) }),
      reportStatus: (report) => {
        cloud.reports.push(report);
        return {};
      },
      watch: (_request, { signal }) => cloud.#watch(signal),
    });
    return cloud;
  }

  get port(): number {
    return this.server.address.port;
  }

  push(event: WatchInit["event"]): void {
    this.#push?.(event ? { event } : {});
  }

  async *#watch(signal: AbortSignal): AsyncIterable<WatchInit> {
    const queue: WatchInit[] = [{ event: { case: "keepalive", value: {} } }];
    let wake = Promise.withResolvers<void>();
    signal.addEventListener("abort", () => wake.resolve());
    this.#push = (event) => {
      queue.push(event);
      wake.resolve();
    };
    while (!signal.aborted) {
      yield* queue.splice(0);
      await wake.promise;
      wake = Promise.withResolvers();
    }
  }
}

async function reading(transport: Transport, name = "f"): Promise<unknown> {
  const { readings } = await createClient(SensorService, transport).getReadings({ name });
  return readings["n"]?.kind.value;
}

const fake = (n: number, name = "f") => ({
  name,
  api: "rdk:component:sensor",
  model: "rdk:builtin:fake",
  attributes: { readings: { n } },
});

const localConfig = (n: number) => ({
  network: { bind_address: "127.0.0.1:0" },
  components: [fake(n)],
});

Deno.test("a machine with a file serves it, follows changes and keeps the last good one", async () => {
  await using machine = await Machine.create();
  await machine.writeConfig(localConfig(1));
  await machine.start();
  const transport = machine.transport();
  await waitFor(async () => await reading(transport) === 1, DEADLINE);
  assert.equal((await fetch(`${machine.url}/`)).status, 200);
  const status = await (await fetch(`${machine.url}/restart_status`)).json();
  assert.equal(status.restart_allowed, true);
  const ready = machine.log.entries.find(({ message }) => message === "serving");
  assert.deepEqual(ready?.fields, { url: machine.url, alt_url: machine.url });

  await machine.writeConfig(localConfig(2));
  await waitFor(async () => await reading(transport) === 2, DEADLINE);
  const { state } = machine.server!.core;
  await Deno.writeTextFile(machine.configPath, '{"components": [{"na');
  await waitFor(() => state.configError.includes("line 1"), DEADLINE);
  assert.equal(await reading(transport), 2);
  await machine.writeConfig(localConfig(3));
  await waitFor(async () => await reading(transport) === 3 && state.configError === "", DEADLINE);
});

Deno.test("a machine with a file ends with one line when nothing of the file can be used", async () => {
  await using machine = await Machine.create();
  await machine.writeConfig({ network: { bind_address: "nowhere" } });
  await assert.rejects(() => machine.start(), /config\.json: network\.bind_address/);
  await Deno.writeTextFile(machine.configPath, "{");
  await assert.rejects(() => machine.start(), /config\.json: not JSON: line 1/);
});

Deno.test("a machine does not start when its port is taken, and starts once it is free", async () => {
  await using first = await Machine.create();
  await first.writeConfig(localConfig(1));
  await first.start();
  await using second = await Machine.create();
  const { port } = first.server!.address!;
  await second.writeConfig({ ...localConfig(1), network: { bind_address: `127.0.0.1:${port}` } });
  await assert.rejects(() => second.start(), new RegExp(`${port}.*another program uses that port`));
  await first.stop();
  await second.start();
});

Deno.test("RobotService/Shutdown asks the server to end", async () => {
  await using machine = await Machine.create();
  await machine.writeConfig(localConfig(1));
  await machine.start();
  await createClient(RobotService, machine.transport()).shutdown({});
  assert.equal(await machine.server!.stopRequested, "shutdown_request");
});

const cloudConfig = (n: number, bindAddress = "127.0.0.1:0"): ConfigInit => ({
  revision: `r${n}`,
  cloud: {
    id: PART,
    fqdn: "m.loc.cloud",
    localFqdn: "m.loc.local.cloud",
    primaryOrgId: "org",
    locationId: "loc",
    machineId: "machine",
    locationSecrets: [{ id: "1", secret: "location-secret" }],
  },
  network: { bindAddress },
  components: [fake(n)],
});

const credentials = (port: number) => ({
  cloud: { app_address: `http://127.0.0.1:${port}`, id: PART, secret: "part-secret" },
});

Deno.test("a machine with a cloud follows pushes, reports, and lets the cloud's keys in", async () => {
  const cloud = await ScriptedCloud.start();
  cloud.config = cloudConfig(1);
  cloud.keys.set("key-1", await hashKey("right"));
  await using machine = await Machine.create();
  try {
    await machine.writeConfig(credentials(cloud.port));
    await machine.start();
    await assert.rejects(() => reading(machine.transport()), /unauthenticated/);
    await assert.rejects(() => machine.signIn("api-key", "key-1", "wrong"), /unauthenticated/);
    const transport = await machine.signIn("api-key", "key-1", "right");
    await waitFor(async () => await reading(transport) === 1, DEADLINE);
    const secret = await machine.signIn("robot-secret", PART, "part-secret");
    const { machineId } = await createClient(RobotService, secret).getCloudMetadata({});
    assert.equal(machineId, "machine");

    cloud.config = cloudConfig(2);
    await waitFor(() => cloud.reports.length > 0, DEADLINE);
    cloud.push({ case: "configChanged", value: { revision: "r2" } });
    await waitFor(async () => await reading(transport) === 2, DEADLINE);
    await waitFor(() => cloud.reports.at(-1)?.status?.config?.revision === "r2", DEADLINE);

    cloud.push({ case: "liveRequested", value: { duration: durationFromMs(90_000) } });
    await waitFor(() => cloud.reports.at(-1)?.readings[0]?.readings?.["n"] === 2, DEADLINE);

    cloud.keys.clear();
    cloud.push({ case: "accessChanged", value: {} });
    await waitFor(async () => {
      return await reading(transport).then(() => false, (error) => /no longer/.test(String(error)));
    }, DEADLINE);

    cloud.config = cloudConfig(3, "nowhere");
    cloud.push({ case: "configChanged", value: { revision: "r3" } });
    await waitFor(() => cloud.reports.at(-1)?.configError.includes("bind_address"), DEADLINE);
    assert.equal(await reading(secret), 2);
  } finally {
    await machine.stop();
    await cloud.server.close({ graceMs: 100 });
  }
});

Deno.test("a machine with a cloud uploads what its data manager captures", async () => {
  const cloud = await ScriptedCloud.start();
  const method = { method: "Readings", capture_frequency_hz: 50 };
  cloud.config = Object.assign(cloudConfig(1), {
    components: [{
      ...fake(7),
      serviceConfigs: [{
        type: "rdk:service:data_manager",
        attributes: { capture_methods: [method] },
      }],
    }],
    services: [{
      name: "data",
      api: "rdk:service:data_manager",
      namespace: "rdk",
      type: "data_manager",
      model: "rdk:builtin:builtin",
      attributes: { sync_interval_mins: 0.001, tags: ["shop"] },
    }],
  });
  await using machine = await Machine.create();
  try {
    await machine.writeConfig(credentials(cloud.port));
    await machine.start();
    await waitFor(() => cloud.captures.length > 1, DEADLINE);
    const [{ metadata, sensorContents } = {}] = cloud.captures;
    assert.deepEqual(
      [metadata?.partId, metadata?.componentType, metadata?.componentName, metadata?.methodName],
      [PART, "rdk:component:sensor", "f", "Readings"],
    );
    assert.deepEqual(metadata?.tags, ["shop"]);
    assert.deepEqual(sensorContents?.[0]?.data.value, { readings: { n: 7 } });
  } finally {
    await machine.stop();
    await cloud.server.close({ graceMs: 100 });
  }
});

Deno.test("a machine starts from what it kept while the cloud is gone, and follows it again", async () => {
  const cloud = await ScriptedCloud.start();
  const { port } = cloud;
  cloud.config = cloudConfig(1);
  cloud.keys.set("key-1", await hashKey("right"));
  await using machine = await Machine.create();
  await machine.writeConfig(credentials(port));
  await machine.start();
  await waitFor(() => machine.server!.core.state.revision === "r1", DEADLINE);
  await machine.stop();
  await cloud.server.close({ graceMs: 100 });

  await machine.start();
  const transport = await machine.signIn("api-key", "key-1", "right");
  await waitFor(async () => await reading(transport) === 1, DEADLINE);
  assert.equal(machine.server!.core.state.revision, "r1");

  const back = await ScriptedCloud.start(port);
  back.config = cloudConfig(2);
  back.keys = cloud.keys;
  try {
    await waitFor(async () => await reading(transport) === 2, { deadlineMs: 60_000 });
  } finally {
    await machine.stop();
    await back.server.close({ graceMs: 100 });
  }
});

Deno.test("a machine that never saw its cloud serves without resources until it does", async () => {
  const cloud = await ScriptedCloud.start();
  const { port } = cloud;
  await cloud.server.close({ graceMs: 100 });
  await using machine = await Machine.create();
  await machine.writeConfig({
    ...credentials(port),
    network: { bind_address: "127.0.0.1:0" },
  });
  await machine.start();
  const transport = await machine.signIn("robot-secret", PART, "part-secret");
  const { resources } = await createClient(RobotService, transport).resourceNames({});
  assert.deepEqual(resources, []);

  const back = await ScriptedCloud.start(port);
  back.config = cloudConfig(1);
  try {
    await waitFor(async () => await reading(transport) === 1, { deadlineMs: 60_000 });
  } finally {
    await machine.stop();
    await back.server.close({ graceMs: 100 });
  }
});

Deno.test("a machine refuses to send its secret in clear to another computer", async () => {
  await using machine = await Machine.create();
  await machine.writeConfig({
    cloud: { app_address: "http://cloud.example:80", id: PART, secret: "s" },
  });
  await assert.rejects(() => machine.start(), /config\.json.*use https/);
});
