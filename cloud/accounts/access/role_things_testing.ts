/** The things that calls of the {@link RoleRig} name. */
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { NOON, uploadImage } from "../../data/ingest/data_testing.ts";
import type { BootstrapResult } from "../../local/bootstrap/bootstrap.ts";
import { addOwner } from "../../local/people/people_command.ts";
import { EnrollmentService } from "../../../shared/gen/machine/cloud/v1/enrollment_pb.ts";
import { DataService } from "../../../shared/gen/viam/app/data/v1/data_pb.ts";
import { DataSyncService } from "../../../shared/gen/viam/app/datasync/v1/data_sync_pb.ts";
import { DataPipelinesService } from "../../../shared/gen/viam/app/datapipelines/v1/data_pipelines_pb.ts";
import { DatasetService, DatasetType } from "../../../shared/gen/viam/app/dataset/v1/dataset_pb.ts";
import { apiKey, type Credentials, TestCloud } from "../../serve/cloud_testing.ts";
import { userByEmail } from "../people/users.ts";
import { BSON_LIMIT, type Ids } from "./role_requests_testing.ts";

/** A sequence of a machine, in a dataset that was exported. */
export async function sequencesOf(
  cloud: TestCloud,
  made: BootstrapResult,
): Promise<{ readonly sequence: string; readonly export: string }> {
  const data = cloud.client(DataService, apiKey(made));
  const datasets = cloud.client(DatasetService, apiKey(made));
  const { id: sequence } = await data.createSequence({
    partId: made.part_id,
    resources: [{ resourceName: "eye", methodName: "ReadImage" }],
    startTime: timestampFromMs(NOON),
    endTime: timestampFromMs(NOON + 10_000),
  });
  const { id: datasetId } = await datasets.createDataset({
    ...{ name: "sequences", organizationId: made.org_id, type: DatasetType.SEQUENCE_DATA },
  });
  await data.addSequencesToDataset({ datasetId, sequenceIds: [sequence] });
  const { jobId } = await datasets.startSequenceDatasetExport({ datasetId });
  return { sequence, export: jobId };
}

/** A training job that has finished. */
export async function jobOf({ folder }: TestCloud, { org_id }: BootstrapResult): Promise<string> {
  const id = crypto.randomUUID();
  await folder.database.queries.insertInto("training_jobs").values({
    ...{ id, org_id, dataset_id: crypto.randomUUID(), kind: "managed", state: "completed" },
    ...{ model_name: "m", model_version: "1", model_type: 1, model_framework: 1 },
    ...{ registry_item_id: "", registry_item_version: "", container_version: "" },
    ...{ arguments: "{}", tags: "[]", submitted_by: "", canceled_by: null, attempts: 0 },
    ...{ key_id: null, error_code: null, error_message: "", package_id: "", metrics: "{}" },
    ...{ created_at: NOON, updated_at: NOON, started_at: NOON, ended_at: NOON },
  }).execute();
  return id;
}

/** What every machine of a location may sign in with, as the name of one of them. */
export async function locationSecret(
  app: ReturnType<TestCloud["app"]>,
  { location_id: locationId, fqdn }: BootstrapResult,
): Promise<Credentials> {
  const { auth } = await app.createLocationSecret({ locationId });
  return {
    ...{ type: "robot-location-secret", entity: fqdn },
    payload: auth?.secrets.at(-1)?.secret ?? "",
  };
}

/** A device that waits to be a machine of the location, and the token that it has. */
export async function enrollmentOf(
  cloud: TestCloud,
  made: BootstrapResult,
  deviceKey: string,
): Promise<{ readonly enrollment: string; readonly enrollmentToken: string }> {
  const locationId = made.location_id;
  const enrolling = cloud.client(EnrollmentService, apiKey(made));
  const { token, enrollmentToken } = await enrolling.createEnrollmentToken({
    ...{ locationId, name: "kiosks", needsApproval: true },
  });
  await cloud.client(EnrollmentService).enroll({ token, deviceKey });
  const { enrollments } = await enrolling.listEnrollments({ locationId });
  return { enrollment: enrollments[0]?.id ?? "", enrollmentToken: enrollmentToken?.id ?? "" };
}

/** Another organisation with one of everything. */
export async function otherOrganization(
  cloud: TestCloud,
  deps: Parameters<typeof addOwner>[2],
): Promise<Ids> {
  const made = await cloud.bootstrap({ organization: "Other" });
  const organizationId = made.org_id;
  const email = "theirs@example.com";
  const { queries } = cloud.folder.database;
  await addOwner(queries, { email, orgId: organizationId }, deps);
  const user = (await userByEmail(queries, email))?.id ?? "";
  const session = await cloud.services.accounts.sessions
    .start(user, "password", { address: "127.0.0.1", client: "test" });
  const app = cloud.app(made);
  const { fragment } = await app.createFragment({ name: "theirs", organizationId });
  const dataset = await cloud.client(DatasetService, apiKey(made))
    .createDataset({ name: "theirs", organizationId });
  const { moduleId } = await app.createModule({ name: "theirs", organizationId });
  const sync = cloud.client(DataSyncService, apiKey(made));
  const { id: query } = await cloud.client(DataService, apiKey(made))
    .createSavedQuery({ name: "theirs", organizationId, mqlBinary: [BSON_LIMIT] });
  const { part: sub } = await app.newRobotPart({ robotId: made.machine_id, partName: "arm" })
    .then(({ partId }) => app.getRobotPart({ id: partId }));
  const hourly = { name: "theirs", schedule: "@hourly", mqlBinary: [BSON_LIMIT] };
  const { id: pipeline } = await cloud.client(DataPipelinesService, apiKey(made))
    .createDataPipeline({ ...hourly, organizationId });
  return {
    ...await sequencesOf(cloud, made),
    ...await enrollmentOf(cloud, made, "t".repeat(40)),
    host: made.fqdn,
    pipeline,
    query,
    binary: await uploadImage(sync, made.part_id, NOON, new Uint8Array([4, 5, 6])),
    job: await jobOf(cloud, made),
    session: session.id,
    user,
    email,
    organization: made.org_id,
    location: made.location_id,
    robot: made.machine_id,
    part: made.part_id,
    subPart: sub?.id ?? "",
    subHost: sub?.fqdn ?? "",
    fragment: fragment?.id ?? "",
    key: made.api_key_id,
    dataset: dataset.id,
    module: moduleId,
  };
}
