import type { ServiceImpl } from "@connectrpc/connect";
import { StoredDataService } from "../../shared/gen/machine/cloud/v1/data_pb.ts";
import { DataPipelinesService } from "../../shared/gen/viam/app/datapipelines/v1/data_pipelines_pb.ts";
import { DataService } from "../../shared/gen/viam/app/data/v1/data_pb.ts";
import { DatasetService } from "../../shared/gen/viam/app/dataset/v1/dataset_pb.ts";
import { DataSyncService } from "../../shared/gen/viam/app/datasync/v1/data_sync_pb.ts";
import type { Logger } from "../../shared/log/logger.ts";
import type { RpcRouter } from "../../shared/rpc/server/router.ts";
import type { Clock } from "../../shared/base/time/clock.ts";
import type { Callers } from "../accounts/access/callers.ts";
import type { HttpCallers } from "../accounts/access/http_callers.ts";
import { ArchiveDeletion } from "../data/archive/archive_deletion.ts";
import type { ArchivedReadings } from "../data/archive/archived_readings.ts";
import { Archiver } from "../data/archive/archiver.ts";
import { absentMethods } from "../data/ingest/absent_methods.ts";
import { annotationMethods } from "../data/ingest/annotation_methods.ts";
import { binaryMethods } from "../data/ingest/binary_methods.ts";
import { dataSyncService } from "../data/ingest/data_sync_service.ts";
import { FileDeletion, TabularDeletion } from "../data/ingest/deletion.ts";
import { FileUrls } from "../data/ingest/file_urls.ts";
import type { IngestListener } from "../data/ingest/ingested.ts";
import { Ingestion } from "../data/ingest/ingestion.ts";
import { Readings } from "../data/ingest/readings.ts";
import { ReadingWeeks } from "../data/ingest/reading_weeks.ts";
import { DataUpkeep } from "../data/ingest/retention.ts";
import { Sources } from "../data/ingest/sources.ts";
import { storedDataService } from "../data/ingest/stored_data_service.ts";
import { tabularMethods } from "../data/ingest/tabular_methods.ts";
import { withCallFailures } from "../storage/database/call_failures.ts";
import type { CloudDatabase, Queries } from "../storage/database/cloud_database.ts";
import type { DirectStatements } from "../storage/database/direct_statements.ts";
import { dataRoutes } from "../data/export/data_routes.ts";
import { DataPipelines } from "../data/pipelines/data_pipelines.ts";
import { dataPipelinesService } from "../data/pipelines/pipeline_methods.ts";
import { ownQueryProgram } from "../data/queries/query_child.ts";
import { queryMethods } from "../data/queries/query_methods.ts";
import { QueryRunner } from "../data/queries/query_runner.ts";
import { savedQueryMethods } from "../data/queries/saved_query_methods.ts";
import { datasetMethods, datasetService } from "../data/datasets/dataset_service.ts";
import { exportMethods } from "../data/sequences/export_methods.ts";
import { SequenceExports } from "../data/sequences/sequence_exports.ts";
import { sequenceMethods } from "../data/sequences/sequence_methods.ts";
import type { NodeBus } from "../nodes/node_bus.ts";
import type { DerivedSecrets } from "../storage/keys/derived_secrets.ts";
import type { Random } from "../storage/keys/random.ts";
import type { BlobStore } from "../storage/blobs/blob_store.ts";
import type { S3Settings } from "../storage/blobs/s3_settings.ts";

export interface DataServicesOptions {
  readonly queries: Queries;
  /** What it wrote is safe when it resolves. */
  readonly transact: CloudDatabase["sharedTransaction"];
  /** On PostgreSQL. */
  readonly statements: DirectStatements | undefined;
  readonly dataDir: string;
  /** Where files are besides the folder; undefined: nowhere. */
  readonly objectStorage: S3Settings | undefined;
  /** By which queries read the database; undefined: it is in the folder. */
  readonly reader: string | undefined;
  /** Holds images and other files. */
  readonly files: BlobStore;
  /** Holds old readings. */
  readonly archived: BlobStore;
  readonly archive: ArchivedReadings;
  /** Holds exports of datasets. */
  readonly archives: BlobStore;
  readonly callers: Callers;
  readonly clock: Clock;
  /** By it data is too old to be kept. */
  readonly cautious: Clock;
  readonly random: Random;
  readonly secrets: DerivedSecrets;
  readonly publicUrl: () => string;
  /** Wakes the node that packs exports and runs pipelines. */
  readonly bus: NodeBus;
  /** Notified of what arrives, inside the transaction that stores it. */
  readonly listener: IngestListener;
  /** Largest file that is taken, bytes; left out: 5 GiB. */
  readonly fileLimitBytes: number | undefined;
  /** How long a query in SQL or MQL may take; left out: 10 s. */
  readonly queryLimitMs?: number | undefined;
  readonly log: Logger;
}

/** An export was begun. */
const EXPORT_TOPIC = "export";
/** Pipelines have something new to do. */
const PIPELINE_TOPIC = "pipeline";
const FILE_LIMIT_BYTES = 5 * 1024 ** 3;
/** Nobody waits for a run of a pipeline; the system ends the process after 60 s of a processor. */
const PIPELINE_LIMIT_MS = 50_000;

/** Captured data: taking it in, keeping it, giving it out. */
export function openDataServices(options: DataServicesOptions) {
  const { queries, clock, random, callers, secrets, publicUrl, listener, files, transact } =
    options;
  const sources = new Sources(queries);
  const { archive } = options;
  const archiving = { queries, transact, files: options.archived, random, clock };
  const readings = new Readings(queries, archive);
  const tabular = new TabularDeletion(
    queries,
    transact,
    new ArchiveDeletion(archiving, archive),
  );
  const binary = new FileDeletion(queries, transact, files);
  const urls = new FileUrls(secrets, clock, publicUrl);
  const ingestion = new Ingestion({
    queries,
    transact,
    sources,
    clock,
    random,
    files,
    listener,
    fileLimitBytes: options.fileLimitBytes ?? FILE_LIMIT_BYTES,
  });
  const exports = new SequenceExports({
    queries,
    readings,
    files,
    urls,
    archives: options.archives,
    clock,
    cautious: options.cautious,
    random,
    begun: () => options.bus.publish(EXPORT_TOPIC, ""),
    log: options.log,
  });
  options.bus.subscribe(EXPORT_TOPIC, () => exports.wake());
  const queryOptions = {
    dataDir: options.dataDir,
    reader: options.reader,
    objectStorage: options.objectStorage,
    program: ownQueryProgram(),
    clock,
    log: options.log,
  };
  const runner = new QueryRunner({ ...queryOptions, limitMs: options.queryLimitMs });
  const pipelineRunner = new QueryRunner({ ...queryOptions, limitMs: PIPELINE_LIMIT_MS });
  const pipelines = new DataPipelines({
    ...{
      queries,
      archive,
      clock,
      random,
      runner: pipelineRunner,
      log: options.log.child("pipelines"),
    },
  });
  options.bus.subscribe(PIPELINE_TOPIC, () => pipelines.wake());
  const data: ServiceImpl<typeof DataService> = {
    ...tabularMethods({ callers, readings, deletion: tabular, clock }),
    ...binaryMethods({ callers, queries, files, deletion: binary, urls }),
    ...annotationMethods({ callers, queries, random }),
    ...datasetMethods({ callers, queries, clock, random }),
    ...sequenceMethods({ callers, queries, clock, random, files, urls }),
    ...queryMethods({ callers, runner }),
    ...savedQueryMethods({ callers, queries, clock, random }),
    ...absentMethods,
  };
  return {
    files,
    pipelines,
    close: async () => {
      await Promise.all([runner.close(), pipelineRunner.close()]);
    },
    routes: (http: HttpCallers) =>
      dataRoutes({ queries, http, readings, files, urls, exports, clock }),
    exports,
    upkeep: new DataUpkeep({
      ...{ queries, clock: options.cautious, tabular, binary, files },
      archiver: new Archiver({ ...archiving, clock: options.cautious }),
      weeks: options.statements &&
        new ReadingWeeks({ statements: options.statements, transact, clock: options.cautious }),
    }),
    mount: (router: RpcRouter): RpcRouter =>
      router
        .service(DataSyncService, withCallFailures(dataSyncService({ callers, ingestion, clock })))
        .service(
          StoredDataService,
          withCallFailures(storedDataService({ callers, queries, readings })),
        )
        .service(DataService, withCallFailures(data))
        .service(
          DataPipelinesService,
          withCallFailures(dataPipelinesService({
            ...{
              callers,
              queries,
              runner,
              clock,
              random,
              wake: () => options.bus.publish(PIPELINE_TOPIC, ""),
            },
          })),
        )
        .service(
          DatasetService,
          withCallFailures({
            ...datasetService({ callers, queries, clock, random, archives: options.archives }),
            ...exportMethods({ callers, exports, urls, clock }),
          }),
        ),
  };
}
