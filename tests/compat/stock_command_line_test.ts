/**
 * What the family's command line calls, in its order and with its fields, by a small client with
 * nothing of ours but the messages: organisations, locations, machines, parts, logs, fragments,
 * modules, data and training.
 */
import assert from "node:assert/strict";
import { join } from "node:path";
import { bootstrapFolder } from "../../cloud/local/bootstrap/bootstrap_testing.ts";
import { OBEDIENT } from "../../cloud/training/runs/scripts_testing.ts";
import { startCloud } from "../../cloud/serve/cloud.ts";
import { systemRandom } from "../../cloud/storage/keys/random.ts";
import { systemClock } from "../../shared/base/time/clock.ts";
import { DataService } from "../../shared/gen/viam/app/data/v1/data_pb.ts";
import { DatasetService } from "../../shared/gen/viam/app/dataset/v1/dataset_pb.ts";
import {
  DataCaptureUploadRequestSchema,
  DataSyncService,
  DataType,
} from "../../shared/gen/viam/app/datasync/v1/data_sync_pb.ts";
import {
  MLTrainingService,
  TrainingStatus,
} from "../../shared/gen/viam/app/mltraining/v1/ml_training_pb.ts";
import { PackageService, PackageType } from "../../shared/gen/viam/app/packages/v1/packages_pb.ts";
import { AppService, Visibility } from "../../shared/gen/viam/app/v1/app_pb.ts";
import { RobotService } from "../../shared/gen/viam/app/v1/robot_pb.ts";
import { AuthService } from "../../shared/gen/proto/rpc/v1/auth_pb.ts";
import { memoryLogger } from "../../shared/log/memory_logger_testing.ts";
import { tarGzOf } from "../../shared/transfer/archive/testing.ts";
import { GoGrpc, GrpcError } from "./go_grpc.ts";

const App = AppService.method;
const CHUNK_BYTES = 32 * 1024;
const deps = { clock: systemClock, random: systemRandom, log: memoryLogger("machine-cloud") };

/** An archive in the pieces that the command line sends. */
function pieces(bytes: Uint8Array): Uint8Array[] {
  const count = Math.ceil(bytes.length / CHUNK_BYTES);
  return Array.from(
    { length: count },
    (_, at) => bytes.subarray(at * CHUNK_BYTES, (at + 1) * CHUNK_BYTES),
  );
}

Deno.test("a cloud answers the calls of the family's command line", async (t) => {
  const dir = await Deno.makeTempDir({ prefix: "machine-stock-cli-" });
  const dataDir = join(dir, "cloud");
  const made = await bootstrapFolder(dataDir);
  const cloud = await startCloud({
    ...{ dataDir, domain: "machine.internal", packageLimitBytes: 1_000_000 },
    ...{ listen: { hostname: "127.0.0.1", port: 0 }, hostname: "localhost" },
  }, deps);
  using grpc = new GoGrpc(`http://127.0.0.1:${cloud.address.port}`);
  const { org_id: organizationId, location_id: location, part_id: partId } = made;
  const signIn = async (entity: string, type: string, payload: string) =>
    (await grpc.call(AuthService.method.authenticate, {
      entity,
      credentials: { type, payload },
    })).accessToken;
  const refused = async (call: Promise<unknown>, code: number, words: RegExp) => {
    const error = await call.then(() => undefined, (reason) => reason);
    assert.ok(error instanceof GrpcError, `it was not refused: ${error}`);
    assert.equal(error.code, code, error.message);
    assert.match(decodeURIComponent(error.message), words);
  };
  try {
    const token = await signIn(made.api_key_id, "api-key", made.api_key);
    const part = await signIn(partId, "robot-secret", made.part_secret);

    await t.step("organizations list, organizations api-key create", async () => {
      const { organizations } = await grpc.call(App.listOrganizations, {}, { token });
      assert.deepEqual(organizations.map(({ id }) => id), [organizationId]);
      const role = {
        ...{ authorizationType: "role", authorizationId: "organization_owner" },
        ...{ resourceType: "organization", resourceId: organizationId, identityId: "" },
        ...{ organizationId, identityType: "api-key" },
      };
      const name = "from the command line";
      const key = await grpc.call(App.createKey, { authorizations: [role], name }, { token });
      assert.ok(await signIn(key.id, "api-key", key.key));
      const { apiKeys } = await grpc.call(App.listKeys, { orgId: organizationId }, { token });
      assert.ok(apiKeys.some(({ apiKey }) => apiKey?.id === key.id && apiKey.name === name));
    });

    await t.step("locations list, machines list, create, part list, delete", async () => {
      const { locations } = await grpc.call(App.listLocations, { organizationId }, { token });
      assert.deepEqual(locations.map(({ id }) => id), [location]);
      const { id } = await grpc.call(App.newRobot, { name: "second", location }, { token });
      const { robots } = await grpc.call(App.listRobots, { locationId: location }, { token });
      assert.deepEqual(robots.map(({ name }) => name).sort(), ["demo", "second"]);
      const { robot } = await grpc.call(App.getRobot, { id }, { token });
      assert.equal(robot?.name, "second");
      await grpc.call(App.updateRobot, { id, name: "renamed", location }, { token });
      const { parts } = await grpc.call(App.getRobotParts, { robotId: id }, { token });
      assert.deepEqual(parts.map(({ mainPart }) => mainPart), [true]);
      const added = await grpc.call(App.newRobotPart, { robotId: id, partName: "arm" }, { token });
      await grpc.call(App.markPartAsMain, { partId: added.partId }, { token });
      await grpc.call(App.deleteRobotPart, { partId: parts[0]!.id }, { token });
      await grpc.call(App.deleteRobot, { id }, { token });
      await refused(grpc.call(App.getRobot, { id }, { token }), 5, /machine/);
    });

    await t.step(
      "part status, add-resource, restart: the configuration is read and written whole",
      async () => {
        const read = async () =>
          (await grpc.call(App.getRobotPart, { id: partId }, { token })).part!;
        const before = await read();
        const component = { name: "s", api: "rdk:component:sensor", model: "rdk:builtin:fake" };
        const robotConfig = { ...before.robotConfig, components: [component] };
        await grpc.call(
          App.updateRobotPart,
          { id: partId, name: before.name, robotConfig },
          { token },
        );
        assert.deepEqual((await read()).robotConfig?.["components"], [component]);
        const { history } = await grpc.call(App.getRobotPartHistory, { id: partId }, { token });
        assert.deepEqual(history[0]?.old?.robotConfig, before.robotConfig);
        await grpc.call(App.markPartForRestart, { partId }, { token });
        const restart = { id: partId };
        const asked = await grpc.call(RobotService.method.needsRestart, restart, { token: part });
        assert.equal(asked.mustRestart, true);
      },
    );

    await t.step("part logs, with an empty page token first", async () => {
      const lines = Array.from({ length: 250 }, (_, at) => ({
        ...{ host: "h", level: at % 2 ? "error" : "info", loggerName: "l", message: `line ${at}` },
        time: { seconds: BigInt(1_700_000_000 + at) },
      }));
      await grpc.call(RobotService.method.log, { id: partId, logs: lines }, { token: part });
      const messages: string[] = [];
      let pageToken = "";
      do {
        const page = await grpc.call(App.getRobotPartLogs, {
          ...{ id: partId, filter: "", pageToken, levels: ["error"], errorsOnly: false },
        }, { token });
        messages.push(...page.logs.map(({ message }) => message));
        pageToken = page.nextPageToken;
      } while (pageToken !== "");
      assert.equal(messages.length, 125);
      assert.equal(messages[0], "line 249");
      // `logs --tail` ends by the person; here by the caller's deadline.
      const tail = grpc.read(
        App.tailRobotPartLogs,
        { id: partId, errorsOnly: false },
        { token, timeoutMs: 500 },
      );
      await refused(tail, 4, /./);
    });

    await t.step("fragments: create, list, use, history", async () => {
      const component = { name: "host", api: "rdk:component:sensor", model: "rdk:builtin:host" };
      const config = { components: [component] };
      const { fragment } = await grpc.call(
        App.createFragment,
        { name: "base", config, organizationId },
        { token },
      );
      const id = fragment?.id ?? "";
      const list = { organizationId, showPublic: false };
      const { fragments } = await grpc.call(App.listFragments, list, { token });
      assert.deepEqual(fragments.map((each) => each.id), [id]);
      const robotConfig = { fragments: [{ id }] };
      await grpc.call(
        App.updateRobotPart,
        { id: partId, name: "demo-main", robotConfig },
        { token },
      );
      const used = await grpc.call(
        App.listMachineFragments,
        { machineId: made.machine_id },
        { token },
      );
      assert.deepEqual(used.fragments.map(({ name }) => name), ["base"]);
      await refused(grpc.call(App.deleteFragment, { id }, { token }), 9, /in use by 1 machine/);
      await grpc.call(App.updateFragment, { id, name: "base", config: {} }, { token });
      const { history } = await grpc.call(App.getFragmentHistory, { id }, { token });
      assert.deepEqual(history.map(({ revision }) => revision), ["2", "1"]);
    });

    await t.step("module create, update, upload, list", async () => {
      const { moduleId } = await grpc.call(
        App.createModule,
        { organizationId, name: "weather" },
        { token },
      );
      assert.equal(moduleId, `${organizationId}:weather`);
      const model = { api: "rdk:component:sensor", model: `${organizationId}:weather:station` };
      await grpc.call(App.updateModule, {
        ...{ moduleId, visibility: Visibility.PRIVATE, url: "", description: "the weather" },
        ...{ models: [model], entrypoint: "run.sh" },
      }, { token });
      const archive = tarGzOf([
        { path: "run.sh", content: "#!/bin/sh\n", mode: 0o755 },
        { path: "data", content: crypto.getRandomValues(new Uint8Array(60_000)) },
      ]);
      const info = { moduleId, version: "1.0.0", platform: "linux/amd64", platformTags: [] };
      const { url } = await grpc.send(App.uploadModuleFile, [
        { moduleFile: { case: "moduleFileInfo", value: info } },
        ...pieces(archive).map((value) => ({ moduleFile: { case: "file" as const, value } })),
      ], { token });
      assert.notEqual(url, "");
      const { modules } = await grpc.call(App.listModules, { organizationId }, { token });
      assert.deepEqual(
        modules.map((each) => [each.moduleId, each.versions.map(({ version }) => version)]),
        [[moduleId, ["1.0.0"]]],
      );
      const { module } = await grpc.call(App.getModule, { moduleId }, { token });
      assert.equal(module?.models[0]?.model, model.model);
    });

    const binary: string[] = [];
    await t.step("data export, tag, dataset create and add", async () => {
      const upload = (type: DataType, method: string, data: object) =>
        grpc.call(
          DataSyncService.method.dataCaptureUpload,
          {
            metadata: {
              ...{ partId, componentType: "rdk:component:sensor", componentName: "s" },
              ...{
                methodName: method,
                type,
                fileExtension: type === DataType.BINARY_SENSOR ? ".jpg" : ".dat",
              },
            },
            sensorContents: [data],
          } as Parameters<typeof grpc.call<typeof DataCaptureUploadRequestSchema, never>>[1],
          {
            token: part,
          },
        );
      const metadata = {
        timeRequested: { seconds: 1_700_000_000n },
        timeReceived: { seconds: 1_700_000_000n },
      };
      await upload(DataType.TABULAR_SENSOR, "Readings", {
        ...{ metadata, data: { case: "struct", value: { readings: { a: 1 } } } },
      });
      const picture = new Uint8Array([0xff, 0xd8, 0xff, 0xd9]);
      await upload(DataType.BINARY_SENSOR, "GetImages", {
        ...{ metadata, data: { case: "binary", value: picture } },
      });

      const filter = { organizationIds: [organizationId] };
      let last = "";
      for (;;) {
        const page = await grpc.call(DataService.method.binaryDataByFilter, {
          dataRequest: { filter, limit: 50n, last },
          ...{ includeBinary: false, countOnly: false },
        }, { token });
        if (page.data.length === 0) break;
        binary.push(...page.data.map((each) => each.metadata?.binaryDataId ?? ""));
        last = page.last;
      }
      assert.equal(binary.length, 1);
      const { data } = await grpc.call(DataService.method.binaryDataByIDs, {
        ...{ binaryDataIds: binary, includeBinary: true },
      }, { token });
      assert.deepEqual([...data[0]?.binary ?? []], [...picture]);
      const rows = await grpc.read(DataService.method.exportTabularData, {
        ...{ partId, resourceName: "s", resourceSubtype: "rdk:component:sensor" },
        ...{ methodName: "Readings", interval: {} },
      }, { token });
      assert.deepEqual(rows.map(({ payload }) => payload), [{ readings: { a: 1 } }]);
      await grpc.call(DataService.method.addTagsToBinaryDataByIDs, {
        ...{ binaryDataIds: binary, tags: ["red"] },
      }, { token });
      const tags = await grpc.call(DataService.method.tagsByFilter, { filter }, { token });
      assert.deepEqual(tags.tags, ["red"]);
    });

    await t.step("training-script upload, train submit-custom, list, cancel, logs", async () => {
      const { id: datasetId } = await grpc.call(DatasetService.method.createDataset, {
        ...{ name: "reds", organizationId },
      }, { token });
      await grpc.call(DataService.method.addBinaryDataToDatasetByIDs, {
        ...{ binaryDataIds: binary, datasetId },
      }, { token });
      const info = {
        ...{ organizationId, name: "script", version: "1", type: PackageType.ML_TRAINING },
        metadata: {
          ...{ model_type: "single_label_classification", model_framework: "tflite" },
          ...{ draft: false, url: "", visibility: "private" },
        },
      };
      await grpc.send(PackageService.method.createPackage, [
        { package: { case: "info", value: info } },
        ...pieces(tarGzOf(OBEDIENT)).map((value) => ({
          package: { case: "contents" as const, value },
        })),
      ], { token });
      const Training = MLTrainingService.method;
      const { id } = await grpc.call(Training.submitCustomTrainingJob, {
        ...{ datasetId, registryItemId: `${organizationId}:script`, registryItemVersion: "1" },
        ...{ organizationId, modelName: "reds-model", modelVersion: "2026-01-02T03-04-05" },
        ...{ arguments: { epochs: "1" }, containerVersion: "" },
      }, { token });
      const { jobs } = await grpc.call(Training.listTrainingJobs, {
        ...{ organizationId, status: TrainingStatus.UNSPECIFIED },
      }, { token });
      assert.deepEqual(jobs.map((job) => [job.id, job.modelName]), [[id, "reds-model"]]);
      const { metadata } = await grpc.call(Training.getTrainingJob, { id }, { token });
      if (!metadata?.trainingEnded) await grpc.call(Training.cancelTrainingJob, { id }, { token });
      let pageToken = "";
      do {
        const page = await grpc.call(Training.getTrainingJobLogs, { id, pageToken }, { token });
        pageToken = page.nextPageToken;
      } while (pageToken !== "");
    });

    await t.step(
      "with a key of an operator nothing is changed, and it says what it takes",
      async () => {
        const role = {
          ...{ authorizationType: "role", authorizationId: "robot_operator" },
          ...{ resourceType: "robot", resourceId: made.machine_id, organizationId },
        };
        const key = await grpc.call(App.createKey, {
          ...{ authorizations: [role], name: "operator" },
        }, { token });
        const operator = await signIn(key.id, "api-key", key.key);
        const save = grpc.call(
          App.updateRobotPart,
          { id: partId, name: "x", robotConfig: {} },
          { token: operator },
        );
        await refused(save, 7, /it takes an owner of the part/);
      },
    );
  } finally {
    await cloud.close({ graceMs: 500 });
    await Deno.remove(dir, { recursive: true });
  }
});
