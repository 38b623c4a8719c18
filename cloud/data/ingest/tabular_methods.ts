import { create, type JsonObject, type MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { Code, type ConnectError, type ServiceImpl } from "@connectrpc/connect";
import { requireFew } from "../../api/lists/few.ts";
import { canonicalJson } from "../../../shared/base/json/json.ts";
import {
  type CaptureMetadataSchema,
  type DataService,
  ExportTabularDataResponseSchema,
  type Filter,
  Order,
  type TabularDataSchema,
} from "../../../shared/gen/viam/app/data/v1/data_pb.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { Callers } from "../../accounts/access/callers.ts";
import { notFound, type Scope } from "../../accounts/access/scope.ts";
import { stillAllowed } from "../../accounts/access/still_allowed.ts";
import { pageSize, pageToken, parsePageToken } from "../../api/paging/paging.ts";
import { parseObject, parseTexts } from "./stored_json.ts";
import { invalid } from "./capture.ts";
import type { TabularDeletion } from "./deletion.ts";
import { captureMetadata } from "./capture_metadata.ts";
import type { ReadingPosition, ReadingRow } from "./reading_order.ts";
import type { Readings } from "./readings.ts";
import {
  ALL_TIME,
  type NamedSource,
  readInterval,
  readTags,
  sourceFilter,
  sourcesFor,
} from "./filters.ts";
import { timestampOf } from "./times.ts";
import { refusal } from "../../../shared/rpc/reasons.ts";

export interface TabularMethodsOptions {
  readonly callers: Callers;
  readonly readings: Readings;
  readonly deletion: TabularDeletion;
  readonly clock: Clock;
}

const PAGE = 50;
const LARGEST_PAGE = 1_000;
const MOST_SOURCES = 5_000;
const YEAR_US = 366 * 24 * 3600 * 1_000_000;
const DAY_US = 24 * 3600 * 1_000_000;

type Methods = Pick<
  ServiceImpl<typeof DataService>,
  "tabularDataByFilter" | "exportTabularData" | "getLatestTabularData" | "deleteTabularData"
>;

/** The calls of DataService about readings. */
export function tabularMethods(options: TabularMethodsOptions): Methods {
  const { callers, readings, clock } = options;
  return {
    async tabularDataByFilter({ dataRequest, countOnly }, context) {
      const scope = await callers.scope(context);
      const filter = dataRequest?.filter;
      const sources = holdsReadings(filter) ? await sourcesFor(scope, sourceFilter(filter)) : [];
      if (sources.length > MOST_SOURCES) {
        throw refusal(
          "TOO_MUCH_MATCHES",
          { most: MOST_SOURCES },
          `data_request.filter: ${sources.length} sources match; more than ${MOST_SOURCES} cannot ` +
            "be read at once. Name a location, machine, part or component",
          Code.ResourceExhausted,
        );
      }
      const wanted = {
        ...readInterval(filter?.interval, "data_request.filter.interval"),
        tags: readTags(filter?.tagsFilter),
        newestFirst: dataRequest?.sortOrder === Order.DESCENDING,
        signal: context.signal,
      };
      const ids = sources.map(({ id }) => id);
      if (countOnly) {
        const { count, bytes } = await readings.count(ids, wanted);
        return { count: BigInt(count), totalSizeBytes: BigInt(bytes) };
      }
      const rows = await readings.page(ids, wanted, {
        limit: pageSize(dataRequest?.limit, PAGE, LARGEST_PAGE),
        after: readPosition(dataRequest?.last),
      });
      const { metadata, data } = withMetadata(rows, sources);
      return {
        metadata,
        data,
        count: BigInt(rows.length),
        last: positionToken(rows.at(-1)),
        totalSizeBytes: BigInt(rows.reduce((sum, row) => sum + row.data.length, 0)),
      };
    },

    async *exportTabularData(request, context) {
      const scope = await callers.scope(context);
      const sources = await sourcesOfMethod(scope, request);
      const byId = new Map(sources.map((source) => [source.id, source]));
      const span = { ...readInterval(request.interval, "interval"), signal: context.signal };
      const hasParameters = parameterCheck(request.additionalParameters);
      let refused: ConnectError | undefined;
      const check = stillAllowed(callers, context, scope, async (now) => {
        const left = new Set((await sourcesOfMethod(now, request)).map(({ id }) => id));
        if (!sources.every(({ id }) => left.has(id))) throw notFound("part", request.partId);
      });
      // It lasts as long as the caller takes to read it, and gives what arrives meanwhile.
      const unwatch = callers.watch(check, (error) => refused = error);
      try {
        await check();
        for await (const row of readings.all([...byId.keys()], span)) {
          context.signal.throwIfAborted();
          if (refused) throw refused;
          const source = byId.get(row.source_id);
          if (!source || !hasParameters(row)) continue;
          yield create(ExportTabularDataResponseSchema, {
            partId: source.part_id,
            resourceName: source.component_name,
            resourceSubtype: source.component_type,
            methodName: source.method_name,
            timeCaptured: timestampOf(row.received_us),
            organizationId: source.org_id,
            locationId: source.location_id,
            robotName: source.machine_name,
            robotId: source.machine_id,
            partName: source.part_name,
            methodParameters: parseObject(row.parameters),
            tags: parseTexts(row.tags),
            payload: parseObject(row.data),
          });
        }
      } finally {
        unwatch();
      }
    },

    async getLatestTabularData(request, context) {
      const scope = await callers.scope(context);
      const sources = await sourcesOfMethod(scope, request);
      const fromUs = clock.now().getTime() * 1_000 - YEAR_US;
      const wanted = { ...ALL_TIME, fromUs, newestFirst: true, signal: context.signal };
      const hasParameters = parameterCheck(request.additionalParameters);
      const ids = sources.map(({ id }) => id);
      const isAny = Object.keys(request.additionalParameters ?? {}).length === 0;
      for await (
        const row of isAny
          ? await readings.page(ids, wanted, { limit: 1 })
          : readings.all(ids, wanted)
      ) {
        if (!hasParameters(row)) continue;
        return {
          timeCaptured: timestampOf(row.received_us),
          timeSynced: timestampFromMs(row.synced_at),
          payload: parseObject(row.data),
        };
      }
      return {};
    },

    async deleteTabularData({ organizationId, deleteOlderThanDays, filter }, context) {
      const scope = await callers.scope(context);
      const { id } = await scope.organization(organizationId, "see");
      requireFew("filter.location_ids", filter?.locationIds);
      const sources = await sourcesFor(scope, {
        organizationIds: [id],
        locationIds: filter?.locationIds ?? [],
        machineId: filter?.robotId ?? "",
        partId: filter?.partId ?? "",
        componentType: filter?.componentType ?? "",
        componentName: filter?.componentName ?? "",
        methodName: filter?.method ?? "",
      }, "manage");
      if (sources.length === 0) await scope.organization(organizationId, "manage");
      const toUs = deleteOlderThanDays === 0
        ? ALL_TIME.toUs
        : clock.now().getTime() * 1_000 - deleteOlderThanDays * DAY_US;
      const deletedCount = await options.deletion.delete(
        id,
        sources.map((source) => source.id),
        { ...ALL_TIME, toUs, tags: readTags(filter?.tagsFilter) },
        context.signal,
      );
      return { deletedCount: BigInt(deletedCount) };
    },
  };
}

/** The sources of one method of one resource; several when the part moved, or named it otherwise. */
export async function sourcesOfMethod(
  scope: Scope,
  asked: {
    readonly partId: string;
    readonly resourceName: string;
    readonly resourceSubtype: string;
    readonly methodName: string;
  },
): Promise<NamedSource[]> {
  const { partId, resourceName, resourceSubtype, methodName } = asked;
  if (partId === "") throw invalid("part_id", "it is missing");
  if (resourceName === "") throw invalid("resource_name", "it is missing");
  if (methodName === "") throw invalid("method_name", "it is missing");
  const sources = await sourcesFor(scope, {
    partId,
    componentName: resourceName,
    componentType: resourceSubtype,
    methodName,
  });
  // No data yet is an answer; a part that the caller may not see is none.
  if (sources.length === 0) await scope.part(partId, "see");
  return sources;
}

/** Readings have no type of file, no boxes and no dataset. */
function holdsReadings(filter: Filter | undefined): boolean {
  return !filter || filter.mimeType.length + filter.bboxLabels.length === 0 && !filter.datasetId;
}

/** Whether a reading was captured with parameters. */
function parameterCheck(wanted: JsonObject | undefined): (row: ReadingRow) => boolean {
  const entries = Object.entries(wanted ?? {});
  if (entries.length === 0) return () => true;
  const known = new Map<string, boolean>();
  return ({ parameters }) => {
    const before = known.get(parameters);
    if (before !== undefined) return before;
    const has = parseObject(parameters);
    const fits = entries.every(([name, value]) => {
      const there = has[name];
      return there !== undefined && canonicalJson(there) === canonicalJson(value);
    });
    known.set(parameters, fits);
    return fits;
  };
}

function positionToken(row: ReadingRow | undefined): string {
  return row ? pageToken(row.received_us, row.source_id, row.upload_id, row.position) : "";
}

function readPosition(token: string | undefined): ReadingPosition | undefined {
  const numbers = parsePageToken(token, 4)?.map(Number);
  if (!numbers) return undefined;
  const [received_us = 0, source_id = 0, upload_id = 0, position = 0] = numbers;
  return { received_us, source_id, upload_id, position };
}

/** The answer's form: what many readings share stands once, and they name it by its place. */
function withMetadata(rows: readonly ReadingRow[], sources: readonly NamedSource[]) {
  const byId = new Map(sources.map((source) => [source.id, source]));
  const places = new Map<string, number>();
  const metadata: MessageInitShape<typeof CaptureMetadataSchema>[] = [];
  const data = rows.map((row): MessageInitShape<typeof TabularDataSchema> => {
    const key = `${row.source_id} ${row.tags} ${row.parameters}`;
    let place = places.get(key);
    if (place === undefined) {
      place = metadata.push(captureMetadata(byId.get(row.source_id), row, "")) - 1;
      places.set(key, place);
    }
    return {
      data: parseObject(row.data),
      metadataIndex: place,
      timeRequested: timestampOf(row.requested_us),
      timeReceived: timestampOf(row.received_us),
    };
  });
  return { metadata, data };
}
