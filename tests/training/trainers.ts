/** For tests: two nodes of one cloud that train on a cluster. */
import assert from "node:assert/strict";
import { NOON, uploadImage } from "../../cloud/data/ingest/data_testing.ts";
import { createPackage } from "../../cloud/registry/packages/packages_testing.ts";
import { OBEDIENT } from "../../cloud/training/runs/scripts_testing.ts";
import { DatasetService } from "../../shared/gen/viam/app/dataset/v1/dataset_pb.ts";
import { DataSyncService } from "../../shared/gen/viam/app/datasync/v1/data_sync_pb.ts";
import { PackageService, PackageType } from "../../shared/gen/viam/app/packages/v1/packages_pb.ts";
import { tarGzOf } from "../../shared/transfer/archive/testing.ts";
import { signIn } from "../../tools/run/cloud_api.ts";
import { eventually } from "../e2e/rig.ts";
import { Cluster } from "../faults/cluster.ts";

const DEADLINE_MS = 300_000;
const TRAINING = "viam.app.mltraining.v1.MLTrainingService";
const ENDED = /STATUS_(COMPLETED|FAILED|CANCELED)/;

/** Two nodes, a dataset of one image, and an obedient script. */
export class Trainers implements AsyncDisposable {
  #jobs = 0;
  #token = "";
  #datasetId = "";

  private constructor(readonly nodes: Cluster) {}

  /** @param options of `serve` */
  static async open(options: readonly string[]): Promise<Trainers> {
    return await Trainers.on(await Cluster.start([...options, "--training-memory", "1024"]));
  }

  /** @param nodes are stopped with it */
  static async on(nodes: Cluster): Promise<Trainers> {
    const it = new Trainers(nodes);
    const { made } = nodes;
    const { client, accessToken } = await signIn(nodes.url, {
      id: made.api_key_id,
      key: made.api_key,
    });
    const dataset = await client(DatasetService).createDataset({
      organizationId: made.org_id,
      name: "shapes",
    });
    it.#token = accessToken;
    it.#datasetId = dataset.id;
    await uploadImage(client(DataSyncService), made.part_id, NOON, new Uint8Array([1, 2, 3]), {
      datasetIds: [dataset.id],
    });
    const version = { type: PackageType.ML_TRAINING, version: "1.0.0", chunk: 65_536 };
    await createPackage(client(PackageService), made.org_id, "trainer", {
      ...version,
      contents: tarGzOf(OBEDIENT),
    });
    return it;
  }

  async submit(code: string): Promise<string> {
    const { made } = this.nodes;
    const { id } = await this.#call("SubmitCustomTrainingJob", {
      ...{ organizationId: made.org_id, datasetId: this.#datasetId, modelName: "shape-model" },
      ...{ registryItemId: `${made.org_id}:trainer`, registryItemVersion: "1.0.0" },
      ...{ modelVersion: String(++this.#jobs), arguments: { do: code } },
    }) as { id: string };
    return id;
  }

  async log(id: string): Promise<string> {
    const { logs = [] } = await this.#call("GetTrainingJobLogs", { id }) as {
      logs?: { message: string }[];
    };
    return logs.map(({ message }) => message).join("\n");
  }

  async prints(id: string, text: string): Promise<void> {
    const has = async () => (await this.log(id)).includes(text);
    await eventually(`${text} in the log`, has, DEADLINE_MS);
  }

  /** Waits for the end of a job. */
  async ends(id: string, status: string): Promise<void> {
    assert.equal(await this.ended(id), status, await this.log(id));
  }

  /** @returns how a job ended, when it has */
  async ended(id: string): Promise<string> {
    return await eventually("the job has ended", async () => {
      const { metadata } = await this.#call("GetTrainingJob", { id }) as {
        metadata: { status: string };
      };
      return ENDED.test(metadata.status) && metadata.status;
    }, DEADLINE_MS);
  }

  async cancel(id: string): Promise<void> {
    await this.#call("CancelTrainingJob", { id });
  }

  /** Objects of runs in the object storage. */
  async stored(): Promise<string[]> {
    const uploads = await this.nodes.objects.requests();
    const names = new Set<string>();
    for (const request of uploads) {
      const [, method, id = ""] = /^(PUT|DELETE) \/machines\/training-runs\/([\w-]+)$/
        .exec(request) ?? [];
      if (method === "PUT") names.add(id);
      if (method === "DELETE") names.delete(id);
    }
    return [...names];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.nodes[Symbol.asyncDispose]();
  }

  async #call(method: string, body: object): Promise<unknown> {
    return await this.nodes.insist(`${TRAINING}/${method}`, this.#token, body);
  }
}

/**
 * What two nodes do on any cluster.
 *
 * @param isIdle whether no job is left on it
 */
export async function tryNodes(
  test: Deno.TestContext,
  it: Trainers,
  isIdle: () => Promise<boolean>,
): Promise<void> {
  await test.step("files come from the object storage, the model by any node", async () => {
    // Twice, as calls go to the nodes in turns.
    for (let run = 0; run < 2; run++) {
      const id = await it.submit("print(len(open(data).readlines()), 'lines'); save(text='m')");
      await it.ends(id, "TRAINING_STATUS_COMPLETED");
      assert.match(await it.log(id), /1 lines[^]*sending the model/);
    }
    assert.deepEqual(await it.stored(), [], "what runs left in the object storage");
  });

  await test.step("a job is canceled through any node, and ends on the cluster", async () => {
    const id = await it.submit("print('started', flush=True); time.sleep(600)");
    await it.prints(id, "started");
    await it.cancel(id);
    await it.ends(id, "TRAINING_STATUS_CANCELED");
    await eventually("no job is left", isIdle);
  });

  for (const signal of ["SIGKILL", "SIGSTOP"] as const) {
    await test.step(`the other node takes over when the leader gets ${signal}`, async () => {
      const id = await it.submit("print('started', flush=True); time.sleep(25); save()");
      await it.prints(id, "started");
      const leader = await it.nodes.leader();
      const program = it.nodes.program(leader);
      program.signal(signal);
      await it.prints(id, "attempt 2 starts");
      if (signal === "SIGSTOP") program.signal("SIGCONT");
      else {
        await program.exited;
        it.nodes.run(leader);
      }
      await it.ends(id, "TRAINING_STATUS_COMPLETED");
      const log = await it.log(id);
      assert.match(log, /the cloud was cut while this ran/);
      assert.equal(log.match(/sending the model/g)?.length, 1, log);
      await eventually("no job is left", isIdle);
      await eventually("both serve", () => Promise.resolve(it.nodes.balancer.ready.size === 2));
    });
  }
}
