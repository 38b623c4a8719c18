import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError, type ServiceImpl } from "@connectrpc/connect";
import {
  type DatasetService,
  SequenceDatasetExportStatus as Status,
} from "../../../shared/gen/viam/app/dataset/v1/dataset_pb.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { Callers } from "../../accounts/access/callers.ts";
import { notFound, type Scope } from "../../accounts/access/scope.ts";
import type { FileUrls } from "../ingest/file_urls.ts";
import { datasetOf } from "../datasets/dataset_service.ts";
import { EXPORT_KEPT_MS, type ExportRow, type SequenceExports } from "./sequence_exports.ts";

export interface ExportMethodsOptions {
  readonly callers: Callers;
  readonly exports: SequenceExports;
  readonly urls: FileUrls;
  readonly clock: Clock;
}

/** How long a link opens an archive. */
const LINK_MS = 60 * 60_000;

const STATUS: Readonly<Record<ExportRow["state"], Status>> = {
  running: Status.RUNNING,
  completed: Status.COMPLETED,
  failed: Status.FAILED,
};

/** The calls of DatasetService about exports. They are for who sees the whole organisation. */
export function exportMethods(
  { callers, exports, urls, clock }: ExportMethodsOptions,
): Pick<
  ServiceImpl<typeof DatasetService>,
  "startSequenceDatasetExport" | "getSequenceDatasetExport"
> {
  return {
    async startSequenceDatasetExport({ datasetId }, context) {
      const scope = await callers.scope(context);
      const dataset = await datasetOf(scope, datasetId, "see");
      requireWhole(scope, dataset.org_id);
      if (dataset.type !== "sequence") {
        throw new ConnectError(
          `the dataset ${JSON.stringify(dataset.name)} holds files; download these one by one ` +
            "(BinaryDataByFilter with its id)",
          Code.FailedPrecondition,
        );
      }
      return { jobId: await exports.start(dataset) };
    },

    async getSequenceDatasetExport({ jobId }, context) {
      const scope = await callers.scope(context);
      const row = jobId === "" ? undefined : await exports.byId(jobId);
      if (!row || !scope.orgIds.includes(row.org_id)) throw notFound("export", jobId);
      requireWhole(scope, row.org_id);
      const ended = row.completed_at;
      return {
        jobId,
        status: STATUS[row.state],
        errorMessage: row.error,
        createdAt: timestampFromMs(row.created_at),
        ...(ended === null ? {} : { completedAt: timestampFromMs(ended) }),
        ...(row.state === "completed" && ended !== null ? link(row.id, ended) : {}),
      };
    },
  };

  function link(id: string, ended: number) {
    const left = ended + EXPORT_KEPT_MS - clock.now().getTime();
    const { url, expiresAt } = urls.signedExport(id, Math.min(LINK_MS, left));
    return { downloadUrl: url, expiresAt: timestampFromMs(expiresAt.getTime()) };
  }
}

function requireWhole(scope: Scope, orgId: string): void {
  if (!scope.allows("see", { orgId })) scope.refuse("dataset");
}
