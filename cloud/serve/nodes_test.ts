import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { Code } from "@connectrpc/connect";
import { ConsoleService, MachineService } from "../../shared/gen/machine/cloud/v1/machine_pb.ts";
import { AgentService } from "../../shared/gen/machine/cloud/v1/releases_pb.ts";
import { DataSyncService, DataType } from "../../shared/gen/viam/app/datasync/v1/data_sync_pb.ts";
import {
  MLTrainingService,
  TrainingStatus,
} from "../../shared/gen/viam/app/mltraining/v1/ml_training_pb.ts";
import { LogEntrySchema } from "../../shared/gen/viam/common/v1/common_pb.ts";
import { RobotService } from "../../shared/gen/viam/app/v1/robot_pb.ts";
import { FakeClock } from "../../shared/base/time/fake_clock.ts";
import { systemClock } from "../../shared/base/time/clock.ts";
import { waitFor } from "../../shared/base/time/wait_for.ts";
import { PostgresServer } from "../../shared/test_tools/postgres_server.ts";
import { ignoreWithout } from "../../shared/test_tools/skips.ts";
import { Watching } from "../fleet/watch/watch_testing.ts";
import { AuthorityError, CertificateAuthority } from "../accounts/certificates/authority.ts";
import { sharedAuthority } from "../accounts/certificates/shared_authority.ts";
import { DerivedSecrets } from "../storage/keys/derived_secrets.ts";
import { FakeReceiver } from "../triggers/delivery/fake_receiver.ts";
import { dataEvent, trigger, webhook } from "../triggers/rules/rig_testing.ts";
import { apiKey, partSecret, TestCloud } from "./cloud_testing.ts";
import { FakeRunner } from "../training/queue/queue_testing.ts";
import { TrainingCloud } from "./training_testing.ts";
import { DEADLINE, Pair } from "./pair_testing.ts";

const ignore = ignoreWithout(import.meta.url, "postgresql");

Deno.test({
  name: "a machine on one node is seen on the other: saves, presence, health, readings, agents",
  ignore,
  async fn() {
    await using pair = await Pair.open();
    const { one, other } = pair;
    const made = await one.bootstrap();
    const partId = made.part_id;
    const looking = one.client(ConsoleService, apiKey(made));
    const state = () => one.services.presence.of(partId).state;
    assert.equal(state(), "awaiting-setup");

    await using watching = new Watching(other, made);
    await watching.has("configChanged");
    await waitFor(() => state() === "online", DEADLINE);
    await one.app(made).updateRobotPart({ id: partId, robotConfig: { debug: true } });
    await watching.has("configChanged", "configChanged");

    const machine = other.client(MachineService, partSecret(made));
    await machine.reportStatus({ partId, configError: "broken", status: { state: 2 } });
    for await (const { machines } of looking.watchFleet({ organizationId: made.org_id })) {
      if (machines.some(({ configError }) => configError === "broken")) break;
    }
    await looking.getPartLiveStatus({ partId });
    await watching.has("configChanged", "configChanged", "liveRequested");
    await machine.reportStatus({
      partId,
      configError: "broken",
      readings: [{ name: "host", readings: { cpu_percent: 12.5 } }],
    });
    await waitFor(async () => {
      const live = await looking.getPartLiveStatus({ partId });
      return live.readings[0]?.readings?.["cpu_percent"] === 12.5 && live.status?.state === 2;
    }, DEADLINE);

    const agent = other.client(AgentService, partSecret(made));
    await agent.reportAgentStatus({
      partId,
      status: { platform: "linux/amd64", server: { installed: "1.2.3", running: "1.2.3" } },
    });
    await waitFor(async () => {
      const live = await looking.getPartLiveStatus({ partId });
      return live.agent?.server?.installed === "1.2.3";
    }, DEADLINE);

    other.services.watchers.close();
    assert.equal((await watching.ended as { code: Code }).code, Code.Unavailable);
    await waitFor(() => other.services.presence.connected === 0, DEADLINE);
    assert.equal(state(), "online", "as it called a moment ago");
    await waitFor(
      () => [...one.services.presence.signs()].every(({ isStreaming }) => !isStreaming),
      DEADLINE,
    );
  },
});

Deno.test({
  name: "a log line that comes to one node is read on the other, also by who reads along there",
  ignore,
  async fn() {
    await using pair = await Pair.open();
    const { one, other } = pair;
    const made = await one.bootstrap();
    const id = made.part_id;
    const robot = other.client(RobotService, partSecret(made));
    const app = one.app(made);
    const stop = new AbortController();
    const shown = new Set<string>();
    const reading = (async () => {
      const stream = app.tailRobotPartLogs({ id }, { signal: stop.signal });
      for await (const { logs } of stream) for (const { message } of logs) shown.add(message);
    })().catch((error) => error);
    let said = 0;
    // The other node learns a moment later that somebody reads along.
    await waitFor(async () => {
      await robot.log({ id, logs: [create(LogEntrySchema, { message: `line ${said++}` })] });
      return shown.size > 0;
    }, DEADLINE);
    await robot.log({ id, logs: [create(LogEntrySchema, { message: "x".repeat(60_000) })] });
    await waitFor(() => shown.has("x".repeat(60_000)), DEADLINE);
    const { logs } = await app.getRobotPartLogs({ id, limit: 1_000n });
    assert.equal(logs.length, Math.min(said + 1, 1_000));
    stop.abort();
    assert.equal((await reading as { code: Code }).code, Code.Canceled);
  },
});

Deno.test({
  name: "a machine that asks two nodes is told once that it must restart",
  ignore,
  async fn() {
    await using pair = await Pair.open();
    const made = await pair.one.bootstrap();
    await pair.one.app(made).markPartForRestart({ partId: made.part_id });
    const asks = (cloud: TestCloud) =>
      cloud.client(RobotService, partSecret(made)).needsRestart({ id: made.part_id });
    assert.equal((await asks(pair.other)).mustRestart, true);
    await waitFor(async () => !(await asks(pair.one)).mustRestart, DEADLINE);
    assert.equal((await asks(pair.other)).mustRestart, false);
  },
});

Deno.test({
  name: "a key that is withdrawn on one node is refused on the other, and its stream ends there",
  ignore,
  async fn() {
    await using pair = await Pair.open();
    const { one, other } = pair;
    const made = await one.bootstrap();
    const key = await one.app(made).createKey({
      name: "for a while",
      authorizations: [{
        authorizationId: "owner",
        resourceType: "organization",
        resourceId: made.org_id,
      }],
    });
    const credentials = { type: "api-key", entity: key.id, payload: key.key };
    const stream = other.client(ConsoleService, credentials)
      .watchFleet({ organizationId: made.org_id })[Symbol.asyncIterator]();
    await stream.next();
    await one.app(made).deleteKey({ id: key.id });
    const ended = await (async () => {
      try {
        while (!(await stream.next()).done);
      } catch (error) {
        return (error as { code: Code }).code;
      }
    })();
    assert.equal(ended, Code.Unauthenticated);
  },
});

Deno.test({
  name: "machines of a node that died are there until they had time to connect to another one",
  ignore,
  async fn() {
    const clock = new FakeClock(Date.now());
    await using pair = await Pair.open(clock);
    const { one, other } = pair;
    const made = await one.bootstrap();
    await using watching = new Watching(other, made);
    await watching.has("configChanged");
    const sign = () =>
      [...one.services.presence.signs()].find(({ partId }) => partId === made.part_id);
    await waitFor(async () => {
      await clock.advance(100);
      return sign()?.isStreaming;
    }, DEADLINE);
    // Its clock stands still from here on, as if its process were stopped.
    await waitFor(() => one.services.nodes.members().length === 1, DEADLINE);
    assert.equal(sign()?.isStreaming, false);
    assert.equal(one.services.presence.of(made.part_id).state, "online");
    // It wakes up, and the other one learns again what it has.
    await waitFor(async () => {
      await clock.advance(500);
      return sign()?.isStreaming;
    }, DEADLINE);
    await waitFor(() => one.services.nodes.members().length === 2, DEADLINE);
  },
});

Deno.test({
  name: "notifications of both nodes are sent once each, also when the leader changes",
  ignore,
  async fn() {
    await using receiver = FakeReceiver.start();
    await using pair = await Pair.open();
    const { one, other } = pair;
    const config = { triggers: [trigger(dataEvent("tabular"), [webhook(receiver)])] };
    const made = await one.bootstrap({ config });
    const stop = new AbortController();
    const leading = [one, other].map(({ services: { nodes, notifications } }) =>
      nodes.leadership.run((signal) => notifications.lead(signal), stop.signal)
    );
    const sync = async (cloud: TestCloud) => {
      const time = timestampFromDate(new Date());
      await cloud.client(DataSyncService, partSecret(made)).dataCaptureUpload({
        metadata: {
          partId: made.part_id,
          componentType: "rdk:component:sensor",
          componentName: "host",
          methodName: "Readings",
          type: DataType.TABULAR_SENSOR,
        },
        sensorContents: [{
          metadata: { timeRequested: time, timeReceived: time },
          data: { case: "struct", value: { readings: { cpu: count++ } } },
        }],
      });
    };
    let count = 0;
    for (let turn = 0; turn < 5; turn++) {
      await sync(one);
      await sync(other);
    }
    const isOver = async () => {
      const rows = await one.folder.database.queries.selectFrom("deliveries").select("state")
        .execute();
      return rows.length === count && rows.every(({ state }) => state === "delivered");
    };
    await waitFor(isOver, DEADLINE);
    const leader = one.services.nodes.leadership.isLeader ? one : other;
    const follower = leader === one ? other : one;
    assert.equal(follower.services.nodes.leadership.isLeader, false);
    // The lock of the leader is lost with its connection, as in a break of the network.
    await pair.server.query(
      `select pg_terminate_backend(l.pid) from pg_locks l
       join pg_stat_activity a on a.pid = l.pid
       where l.locktype = 'advisory' and a.state = 'idle'`,
    );
    await sync(follower);
    await sync(leader);
    await waitFor(isOver, DEADLINE);
    stop.abort();
    await Promise.all(leading);
    const ids = receiver.requests.map(({ headers }) => headers.get("webhook-id"));
    assert.equal(receiver.requests.length, count);
    assert.equal(new Set(ids).size, count);
  },
});

Deno.test({
  name: "a job that is submitted and canceled on one node is trained by the one that leads",
  ignore,
  async fn() {
    const runner = new FakeRunner();
    await using pair = await Pair.open(systemClock, { training: { runner } });
    const all = [pair.one, pair.other];
    const leaders = () => all.filter(({ services }) => services.nodes.leadership.isLeader);
    await waitFor(() => leaders().length === 1, DEADLINE);
    const [leader] = leaders();
    const follower = all.find((cloud) => cloud !== leader);
    assert.ok(leader && follower);
    const stop = new AbortController();
    const leading = all.map(({ services: { nodes, training } }) =>
      nodes.leadership.run((signal) => training.lead(signal), stop.signal)
    );
    const rig = await TrainingCloud.on(leader);
    const version = await rig.script();
    const jobs = follower.client(MLTrainingService, apiKey(rig.made));
    const submit = async (modelVersion: string) => {
      const { id } = await jobs.submitCustomTrainingJob({
        organizationId: rig.made.org_id,
        datasetId: rig.datasetId,
        registryItemId: `${rig.made.org_id}:trainer`,
        registryItemVersion: version,
        modelName: "shape-model",
        modelVersion,
      });
      return id;
    };
    const status = async (id: string) => (await jobs.getTrainingJob({ id })).metadata?.status;
    const first = await submit("1");
    await waitFor(async () => await status(first) === TrainingStatus.COMPLETED, DEADLINE);
    runner.behave = async (_task, _output, signal) => {
      if (!signal.aborted) await new Promise((end) => signal.addEventListener("abort", end));
      return { kind: "aborted" };
    };
    const second = await submit("2");
    await waitFor(() => runner.running.has(second), DEADLINE);
    await jobs.cancelTrainingJob({ id: second });
    await waitFor(async () => await status(second) === TrainingStatus.CANCELED, DEADLINE);
    assert.deepEqual(runner.tasks.map(({ jobId }) => jobId), [first, second]);
    stop.abort();
    await Promise.all(leading);
  },
});

Deno.test({
  name: "nodes have one certificate authority, which only their key opens in the database",
  ignore,
  async fn() {
    await using pair = await Pair.open();
    const [first, second] = await Promise.all(
      [pair.one, pair.other].map(({ services }) => services.certificates.rootPem()),
    );
    assert.match(first ?? "", /BEGIN CERTIFICATE/);
    assert.equal(second, first);
    const kept = await pair.server.query(
      "select value from machine_cloud.settings where name = 'authority'",
    );
    assert.notEqual(kept, "");
    assert.doesNotMatch(Buffer.from(kept, "base64").toString("latin1"), /BEGIN/);
    const { folder: { database } } = pair.one;
    const another = new DerivedSecrets(new Uint8Array(32));
    await assert.rejects(
      async () => await sharedAuthority(database, another)?.read(),
      AuthorityError,
    );
  },
});

Deno.test({
  name: "the authority that a folder had goes to the database, and stays the one",
  ignore,
  async fn() {
    await using server = await PostgresServer.start();
    const before = await Deno.makeTempDir({ prefix: "machine-cloud-test-" });
    try {
      const now = new Date();
      const { rootPem } = await CertificateAuthority.open(before, { now });
      await using cloud = await TestCloud.open({ database: server.address("pool=4") });
      await Deno.copyFile(`${before}/ca.pem`, cloud.path("ca.pem"));
      assert.equal(await cloud.services.certificates.rootPem(), rootPem);
      await using other = await TestCloud.open({
        database: server.address("pool=4"),
        nodeOf: cloud,
      });
      assert.equal(await other.services.certificates.rootPem(), rootPem);
    } finally {
      await Deno.remove(before, { recursive: true });
    }
  },
});
