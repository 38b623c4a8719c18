import { Code, type ServiceImpl } from "@connectrpc/connect";
import type { StoredDataService } from "../../../shared/gen/machine/cloud/v1/data_pb.ts";
import type { Callers } from "../../accounts/access/callers.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import { invalid } from "./capture.ts";
import { ALL_TIME, readSpan, sourcesFor } from "./filters.ts";
import { jsonPath, plot } from "./plot.ts";
import type { Readings } from "./readings.ts";
import { sourcesOfMethod } from "./tabular_methods.ts";
import { timestampOf } from "./times.ts";
import { readSettings, readUsage, writeSettings } from "./usage.ts";
import { refusal } from "../../../shared/rpc/reasons.ts";

export interface StoredDataServiceOptions {
  readonly callers: Pick<Callers, "scope">;
  readonly queries: Queries;
  readonly readings: Readings;
}

const BUCKETS = 300;
const MOST_BUCKETS = 5_000;
const MOST_SOURCES = 2_000;
const MOST_DAYS = 36_500;

/** Captured data beyond the public API, for the console and the command line. */
export function storedDataService(
  { callers, queries, readings }: StoredDataServiceOptions,
): ServiceImpl<typeof StoredDataService> {
  return {
    async plotTabularData(request, context) {
      const scope = await callers.scope(context);
      const sources = await sourcesOfMethod(scope, request);
      const { fromUs, widthUs, ...lists } = await plot(queries, readings, {
        sourceIds: sources.map(({ id }) => id),
        path: jsonPath(request.path),
        span: readSpan(request.start, request.end),
        buckets: readBuckets(request.buckets),
        signal: context.signal,
      });
      return { start: timestampOf(fromUs), bucketUs: BigInt(widthUs), ...lists };
    },

    async listDataSources({ partId }, context) {
      const scope = await callers.scope(context);
      const sources = await sourcesFor(scope, { partId });
      if (sources.length === 0 && partId !== "") await scope.part(partId, "see");
      const listed = [];
      for (const source of sources.slice(0, MOST_SOURCES)) {
        const { first, last } = await readings.firstAndLast(source.id, ALL_TIME);
        listed.push({
          partId: source.part_id,
          partName: source.part_name,
          machineId: source.machine_id,
          machineName: source.machine_name,
          locationId: source.location_id,
          resourceName: source.component_name,
          resourceSubtype: source.component_type,
          methodName: source.method_name,
          ...(first === undefined ? {} : { firstReading: timestampOf(first) }),
          ...(last === undefined ? {} : { lastReading: timestampOf(last) }),
        });
      }
      return { sources: listed };
    },

    async getDataSettings({ organizationId }, context) {
      const scope = await callers.scope(context);
      const { id } = await scope.organization(organizationId, "see");
      const { retentionDays, quotaBytes, archiveAfterDays } = await readSettings(queries, id);
      const usage = await readUsage(queries, id);
      return {
        settings: {
          ...(retentionDays === null ? {} : { retentionDays }),
          ...(quotaBytes === null ? {} : { quotaBytes: BigInt(quotaBytes) }),
          ...(archiveAfterDays === null ? {} : { archiveAfterDays }),
        },
        usage: {
          readings: BigInt(usage.readings),
          readingBytes: BigInt(usage.readingBytes),
          files: BigInt(usage.files),
          fileBytes: BigInt(usage.fileBytes),
        },
      };
    },

    async setDataSettings({ organizationId, settings }, context) {
      const scope = await callers.scope(context);
      const { id } = await scope.organization(organizationId, "manage");
      if (!settings) throw invalid("settings", "they are missing");
      const { retentionDays, quotaBytes, archiveAfterDays } = settings;
      checkDays("retention_days", retentionDays, "to keep data forever");
      checkDays("archive_after_days", archiveAfterDays, "to keep readings in the database");
      if (Number(quotaBytes) > Number.MAX_SAFE_INTEGER) {
        throw invalid("settings.quota_bytes", "it is too large");
      }
      await writeSettings(queries, id, {
        retentionDays: retentionDays ?? null,
        quotaBytes: quotaBytes === undefined ? null : Number(quotaBytes),
        archiveAfterDays: archiveAfterDays ?? null,
      });
      return {};
    },
  };
}

function checkDays(name: string, days: number | undefined, otherwise: string): void {
  if (days !== 0 && Number(days ?? 1) <= MOST_DAYS) return;
  throw refusal(
    "NUMBER_INVALID",
    { least: 1, most: MOST_DAYS },
    `settings.${name}: it must lie between 1 and ${MOST_DAYS}; leave it out ${otherwise}`,
    Code.InvalidArgument,
  );
}

function readBuckets(buckets: number): number {
  if (buckets > MOST_BUCKETS) throw invalid("buckets", `there can be ${MOST_BUCKETS} at most`);
  return buckets || BUCKETS;
}
