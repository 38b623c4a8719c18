import { Code } from "@connectrpc/connect";
import { isPrefix, registryItemsFor, splitAtFirst } from "../../accounts/access/scope.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import type { BlobStore } from "../../storage/blobs/blob_store.ts";
import { chooseFile } from "../../registry/packages/versions.ts";
import type { JobRow } from "../jobs/jobs.ts";
import type { TrainingScript } from "../runs/runner.ts";
import { JobError } from "./job_failure.ts";

/** Finds the code of jobs in the registry. */
export class ScriptSource {
  constructor(
    private readonly queries: Queries,
    private readonly blobs: Pick<BlobStore, "read">,
  ) {}

  /**
   * What a job runs. It was there when the job was submitted, and may be gone now.
   *
   * @throws {JobError}
   */
  async of(job: JobRow): Promise<TrainingScript> {
    if (job.kind === "managed") return { kind: "managed" };
    const { registry_item_id: id, registry_item_version: version } = job;
    const [prefix, itemName] = splitAtFirst(id, ":");
    const item = await registryItemsFor(this.queries, [job.org_id]).selectAll("registry_items")
      .where("registry_items.name", "=", itemName).where("registry_items.type", "=", "ml_training")
      .where(isPrefix(prefix)).executeTakeFirst();
    if (!item) throw gone(`the training script ${id} is not in the registry any more`);
    const rows = await this.queries.selectFrom("package_files").selectAll()
      .where("item_id", "=", item.id).orderBy("created_at", "desc").orderBy("id").execute();
    const candidates = rows.map((row) => ({
      id: row.id,
      version: row.version,
      platform: row.platform,
      createdAtMs: row.created_at,
    }));
    const wanted = { type: item.type, version, platform: undefined };
    const choice = chooseFile(candidates, wanted);
    if (choice.kind === "none") throw gone(`the training script ${id} ${choice.problem}`);
    const file = choice.kind === "found" ? choice.file : choice.files[0];
    if (!file) throw gone(`the training script ${id} has no file`);
    const name = `${id} ${file.version}`;
    return { kind: "custom", key: file.id, name, archive: () => this.#open(file.id, name) };
  }

  async #open(fileId: string, name: string): Promise<ReadableStream<Uint8Array<ArrayBuffer>>> {
    const file = await this.blobs.read(fileId);
    if (!file) throw gone(`the training script ${name} was deleted`);
    return file.readable;
  }
}

function gone(what: string): JobError {
  return new JobError(Code.NotFound, `${what}; upload it again and submit the job again`);
}
