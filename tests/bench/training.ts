import { DatasetService } from "../../shared/gen/viam/app/dataset/v1/dataset_pb.ts";
import { DataSyncService } from "../../shared/gen/viam/app/datasync/v1/data_sync_pb.ts";
import {
  MLTrainingService,
  TrainingStatus,
} from "../../shared/gen/viam/app/mltraining/v1/ml_training_pb.ts";
import { NOON, uploadImage } from "../../cloud/data/ingest/data_testing.ts";
import { untilStatus, uploadCounter } from "../compat/training_rig.ts";
import { eventually, Rig } from "../e2e/rig.ts";
import { GrpcClient } from "./grpc_client.ts";
import { percentile, type Reporter } from "./report.ts";

const QUEUED = 1_000;
const SUBMITS = 300;
const LISTS = 200;

/** How fast a script starts when its environment is there, and how fast calls are with a long queue. */
export async function benchTraining(reporter: Reporter): Promise<void> {
  await using rig = await Rig.create();
  await rig.startCloud();
  const { org_id: organizationId, part_id } = rig.bootstrapped;
  const { accessToken } = await rig.cloud();
  using grpc = new GrpcClient(rig.cloudUrl, accessToken);
  const training = grpc.client(MLTrainingService);
  const script = { registryItemId: await uploadCounter(rig), registryItemVersion: "1.0.0" };
  const datasetOf = async (name: string) => {
    const { id } = await grpc.client(DatasetService).createDataset({ organizationId, name });
    const sync = grpc.client(DataSyncService);
    const picture = new TextEncoder().encode(name);
    await uploadImage(sync, part_id, NOON, picture, { datasetIds: [id], tags: [name] });
    return id;
  };
  const [quick, slow] = [await datasetOf("quick"), await datasetOf("slow")];
  let submitted = 0;
  const submit = async (datasetId: string) => {
    const modelVersion = String(++submitted);
    const model = { modelName: "counted", modelVersion };
    return (await training.submitCustomTrainingJob({
      organizationId,
      datasetId,
      ...script,
      ...model,
    }))
      .id;
  };
  const printed = (id: string) =>
    eventually("the script prints its first line", async () => {
      const { logs } = await training.getTrainingJobLogs({ id });
      return logs.some(({ message }) => message.startsWith("training on"));
    }, 120_000);

  reporter.note("making the script's environment …");
  await untilStatus(rig, await submit(quick), TrainingStatus.COMPLETED);
  const toFirstLine: number[] = [];
  for (let n = 0; n < 5; n++) {
    const began = performance.now();
    const id = await submit(quick);
    await printed(id);
    toFirstLine.push(performance.now() - began);
    await untilStatus(rig, id, TrainingStatus.COMPLETED);
  }
  reporter.report("training_first_line_p50", percentile(toFirstLine, 0.5), "ms");
  reporter.report("training_first_line_worst", percentile(toFirstLine, 1), "ms");

  reporter.note(`queueing ${QUEUED} jobs …`);
  await printed(await submit(slow));
  for (let n = 1; n < QUEUED; n++) await submit(slow);
  const lists = await timed(LISTS, () => training.listTrainingJobs({ organizationId }));
  reporter.report("training_list_p50", percentile(lists, 0.5), "ms");
  reporter.report("training_list_p99", percentile(lists, 0.99), "ms");
  const submits = await timed(SUBMITS, () => submit(slow));
  reporter.report("training_submit_p50", percentile(submits, 0.5), "ms");
  reporter.report("training_submit_p99", percentile(submits, 0.99), "ms");
}

/** Milliseconds that each call took, one after another. */
async function timed(count: number, call: () => Promise<unknown>): Promise<number[]> {
  const times: number[] = [];
  for (let n = 0; n < count; n++) {
    const began = performance.now();
    await call();
    times.push(performance.now() - began);
  }
  return times;
}
