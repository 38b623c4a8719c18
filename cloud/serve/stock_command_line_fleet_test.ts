/** More calls of the family's command line, in its order and with its fields: what it lists and sends. */
import assert from "node:assert/strict";
import { Code } from "@connectrpc/connect";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { NOON, uploadImage } from "../data/ingest/data_testing.ts";
import { DataService } from "../../shared/gen/viam/app/data/v1/data_pb.ts";
import { DataSyncService } from "../../shared/gen/viam/app/datasync/v1/data_sync_pb.ts";
import {
  MLTrainingService,
  TrainingStatus,
} from "../../shared/gen/viam/app/mltraining/v1/ml_training_pb.ts";
import { AppService, Visibility } from "../../shared/gen/viam/app/v1/app_pb.ts";
import { RobotService } from "../../shared/gen/viam/app/v1/robot_pb.ts";
import { gzip } from "../registry/packages/packages_testing.ts";
import { apiKey, failure, partSecret, TestCloud } from "./cloud_testing.ts";

Deno.test("organizations, locations, machines, status, logs and an API key are listed as asked", async () => {
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  const app = cloud.app(made);
  const { organizations: [organization] } = await app.listOrganizations({});
  const { locations: [location] } = await app.listLocations({ organizationId: organization!.id });
  const { robots: [machine] } = await app.listRobots({ locationId: location!.id });
  const { parts: [part] } = await app.getRobotParts({ robotId: machine!.id });
  assert.deepEqual([organization?.name, location?.name, machine?.name, part?.mainPart], [
    ...["Acme", "Lab", "demo", true],
  ]);
  assert.equal((await app.getRobot({ id: machine!.id })).robot?.location, location?.id);

  const robot = cloud.client(RobotService, partSecret(made));
  const line = (level: string, message: string) => ({
    ...{ host: "h", level, message, loggerName: "rdk", stack: "" },
    time: timestampFromDate(new Date()),
  });
  const logs = [line("info", "up"), line("error", "down")];
  await robot.log({ id: part!.id, logs });
  // The first page token is an empty text; no levels are all.
  const asked = { id: part!.id, filter: "", levels: [] as string[], pageToken: "" };
  const page = await app.getRobotPartLogs(asked);
  assert.deepEqual(page.logs.map(({ message }) => message).toSorted(), ["down", "up"]);
  const errors = await app.getRobotPartLogs({ ...asked, levels: ["error"] });
  assert.deepEqual(errors.logs.map(({ message }) => message), ["down"]);

  const key = await app.createKey({
    name: "from the command line",
    authorizations: [{
      ...{ authorizationType: "role", authorizationId: "location_owner", identityId: "" },
      ...{ resourceType: "location", resourceId: location!.id, identityType: "api-key" },
      organizationId: organization!.id,
    }],
  });
  const other = cloud.client(AppService, { type: "api-key", entity: key.id, payload: key.key });
  assert.equal((await other.listRobots({ locationId: location!.id })).robots.length, 1);
});

Deno.test("module create, update, upload and list; fragments of a part", async () => {
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  const app = cloud.app(made);
  const { moduleId } = await app.createModule({ organizationId: made.org_id, name: "work" });
  await app.updateModule({
    ...{ moduleId, url: "https://example.com", description: "Works", entrypoint: "run.sh" },
    models: [{ api: "rdk:component:sensor", model: "acme:work:sun" }],
    visibility: Visibility.PRIVATE,
  });
  const file = gzip("module", 100_000);
  await app.uploadModuleFile(async function* () {
    const value = { moduleId, version: "1.0.0", platform: "linux/amd64" };
    yield await Promise.resolve({ moduleFile: { case: "moduleFileInfo" as const, value } });
    for (let at = 0; at < file.length; at += 32 * 1024) {
      const chunk = file.subarray(at, at + 32 * 1024);
      yield { moduleFile: { case: "file" as const, value: chunk } };
    }
  }());
  const { modules } = await app.listModules({ organizationId: made.org_id });
  assert.deepEqual(
    modules.map((one) => [one.moduleId, one.versions.map(({ version }) => version)]),
    [
      [moduleId, ["1.0.0"]],
    ],
  );

  const components = [{ name: "s", api: "rdk:component:sensor", model: "rdk:builtin:fake" }];
  const { fragment } = await app.createFragment({
    ...{ organizationId: made.org_id, name: "base", config: { components } },
  });
  const robotConfig = { fragments: [{ id: fragment!.id }] };
  await app.updateRobotPart({ id: made.part_id, name: "demo-main", robotConfig });
  const robot = cloud.client(RobotService, partSecret(made));
  const { config } = await robot.config({ id: made.part_id });
  assert.deepEqual(config?.components.map(({ name }) => name), ["s"]);
});

Deno.test("data export by pages and ids; training jobs and their logs", async () => {
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  const sync = cloud.client(DataSyncService, apiKey(made));
  for (const n of [0, 1, 2]) {
    await uploadImage(sync, made.part_id, NOON + n * 1000, new Uint8Array([0xff, 0xd8, n]));
  }
  const data = cloud.client(DataService, apiKey(made));
  const found: string[] = [];
  for (let last = "";;) {
    const filter = { organizationIds: [made.org_id] };
    const page = await data.binaryDataByFilter({
      ...{ dataRequest: { filter, limit: 2n, last }, countOnly: false, includeBinary: false },
    });
    if (page.data.length === 0) break;
    found.push(...page.data.map(({ metadata }) => metadata?.binaryDataId ?? ""));
    last = page.last;
  }
  assert.equal(new Set(found).size, 3);
  const whole = await data.binaryDataByIDs({ binaryDataIds: found, includeBinary: true });
  assert.ok(whole.data.every(({ binary }) => binary.length > 0));

  const training = cloud.client(MLTrainingService, apiKey(made));
  const status = TrainingStatus.UNSPECIFIED;
  const jobs = await training.listTrainingJobs({ organizationId: made.org_id, status });
  assert.deepEqual(jobs.jobs, []);
  const logs = training.getTrainingJobLogs({ id: "none", pageToken: "" });
  assert.equal((await failure(logs)).code, Code.NotFound);
});
