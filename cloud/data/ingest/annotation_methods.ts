import { Code, type ServiceImpl } from "@connectrpc/connect";
import type {
  BinaryID,
  DataService,
  UpdateBoundingBoxRequest,
} from "../../../shared/gen/viam/app/data/v1/data_pb.ts";
import type { Callers } from "../../accounts/access/callers.ts";
import { notFound } from "../../accounts/access/scope.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import type { Random } from "../../storage/keys/random.ts";
import { filteredFiles } from "./binary_filter.ts";
import { fileIdOf, fileIdsOf } from "./binary_ids.ts";
import { filesByIds } from "./binary_methods.ts";
import { invalid, tooLong, tooMany } from "./capture.ts";
import { refusal } from "../../../shared/rpc/reasons.ts";

export interface AnnotationMethodsOptions {
  readonly callers: Callers;
  readonly queries: Queries;
  readonly random: Random;
}

const MOST_TAGS = 200;
const LONGEST_LABEL = 1_024;
/** Ids in one statement. */
const SLICE = 500;

type Methods = Pick<
  ServiceImpl<typeof DataService>,
  | "addTagsToBinaryDataByIDs"
  | "addTagsToBinaryDataByFilter"
  | "removeTagsFromBinaryDataByIDs"
  | "removeTagsFromBinaryDataByFilter"
  | "tagsByFilter"
  | "addBoundingBoxToImageByID"
  | "removeBoundingBoxFromImageByID"
  | "updateBoundingBox"
  | "boundingBoxLabelsByFilter"
>;

/** The calls of DataService about tags and boxes. */
export function annotationMethods({ callers, queries, random }: AnnotationMethodsOptions): Methods {
  return {
    async addTagsToBinaryDataByIDs(request, context) {
      const scope = await callers.scope(context);
      const rows = await filesByIds(scope, fileIdsOf(request), "manage");
      await addTags(queries, rows.map(({ id }) => id), readTags(request.tags));
      return {};
    },

    async addTagsToBinaryDataByFilter({ filter, tags }, context) {
      const scope = await callers.scope(context);
      const rows = await (await filteredFiles(scope, filter, "manage"))
        .select("binary_data.id").execute();
      await addTags(queries, rows.map(({ id }) => id), readTags(tags));
      return {};
    },

    async removeTagsFromBinaryDataByIDs(request, context) {
      const scope = await callers.scope(context);
      const rows = await filesByIds(scope, fileIdsOf(request), "manage");
      const removed = await removeTags(queries, rows.map(({ id }) => id), readTags(request.tags));
      return { deletedCount: BigInt(removed) };
    },

    async removeTagsFromBinaryDataByFilter({ filter, tags }, context) {
      const scope = await callers.scope(context);
      const rows = await (await filteredFiles(scope, filter, "manage"))
        .select("binary_data.id").execute();
      const removed = await removeTags(queries, rows.map(({ id }) => id), readTags(tags));
      return { deletedCount: BigInt(removed) };
    },

    async tagsByFilter({ filter }, context) {
      const scope = await callers.scope(context);
      const ids = (await filteredFiles(scope, filter)).select("binary_data.id");
      const rows = await queries.selectFrom("binary_tags").select("tag").distinct()
        .where("binary_id", "in", ids).orderBy("tag").execute();
      return { tags: rows.map(({ tag }) => tag) };
    },

    async addBoundingBoxToImageByID(request, context) {
      const scope = await callers.scope(context);
      const [file] = await filesByIds(scope, [namedFile(request)], "manage");
      const box = readBox({
        label: request.label,
        xMin: request.xMinNormalized,
        yMin: request.yMinNormalized,
        xMax: request.xMaxNormalized,
        yMax: request.yMaxNormalized,
        confidence: request.confidence,
      });
      const id = random.uuid();
      await queries.insertInto("binary_annotations")
        .values({ id, binary_id: file?.id ?? "", kind: "box", ...box }).execute();
      return { bboxId: id };
    },

    async removeBoundingBoxFromImageByID(request, context) {
      const scope = await callers.scope(context);
      await filesByIds(scope, [namedFile(request)], "manage");
      const box = await boxOf(queries, request);
      await queries.deleteFrom("binary_annotations").where("id", "=", box.id).execute();
      return {};
    },

    async updateBoundingBox(request, context) {
      const scope = await callers.scope(context);
      await filesByIds(scope, [namedFile(request)], "manage");
      const before = await boxOf(queries, request);
      const box = readBox({
        label: request.label ?? before.label,
        xMin: request.xMinNormalized ?? before.x_min,
        yMin: request.yMinNormalized ?? before.y_min,
        xMax: request.xMaxNormalized ?? before.x_max,
        yMax: request.yMaxNormalized ?? before.y_max,
        confidence: request.confidence ?? before.confidence ?? undefined,
      });
      await queries.updateTable("binary_annotations").set(box).where("id", "=", before.id)
        .execute();
      return {};
    },

    async boundingBoxLabelsByFilter({ filter }, context) {
      const scope = await callers.scope(context);
      const ids = (await filteredFiles(scope, filter)).select("binary_data.id");
      const rows = await queries.selectFrom("binary_annotations").select("label").distinct()
        .where("kind", "=", "box").where("binary_id", "in", ids).orderBy("label").execute();
      return { labels: rows.map(({ label }) => label) };
    },
  };
}

/** The one file that a call names, by its id or as callers of old times do. */
function namedFile(
  request: { readonly binaryDataId: string; readonly binaryId?: BinaryID | undefined },
): string {
  return request.binaryDataId === "" && request.binaryId
    ? fileIdOf(request.binaryId.fileId, "binary_id.file_id")
    : fileIdOf(request.binaryDataId, "binary_data_id");
}

function readTags(tags: readonly string[]): string[] {
  if (tags.length === 0) throw invalid("tags", "there are none");
  if (tags.length > MOST_TAGS) throw tooMany("tags", MOST_TAGS);
  const wrong = tags.findIndex((tag) => tag === "" || tag.length > LONGEST_LABEL);
  if (wrong < 0) return [...new Set(tags)];
  throw refusal(
    "LABEL_INVALID",
    { label: tags[wrong] ?? "", most: LONGEST_LABEL },
    `tags[${wrong}]: a tag has 1 to ${LONGEST_LABEL} characters`,
    Code.InvalidArgument,
  );
}

async function addTags(
  queries: Queries,
  ids: readonly string[],
  tags: readonly string[],
): Promise<void> {
  await queries.transaction().execute(async (transaction) => {
    for (const id of ids) {
      await transaction.insertInto("binary_tags")
        .values(tags.map((tag) => ({ binary_id: id, tag })))
        .onConflict((conflict) => conflict.doNothing()).execute();
    }
  });
}

async function removeTags(
  queries: Queries,
  ids: readonly string[],
  tags: readonly string[],
): Promise<number> {
  return await queries.transaction().execute(async (transaction) => {
    let removed = 0;
    for (let at = 0; at < ids.length; at += SLICE) {
      const result = await transaction.deleteFrom("binary_tags")
        .where("binary_id", "in", ids.slice(at, at + SLICE)).where("tag", "in", tags)
        .executeTakeFirst();
      removed += Number(result.numDeletedRows);
    }
    return removed;
  });
}

async function boxOf(
  queries: Queries,
  request: Pick<UpdateBoundingBoxRequest, "binaryDataId" | "binaryId" | "bboxId">,
) {
  const box = await queries.selectFrom("binary_annotations").selectAll()
    .where("id", "=", request.bboxId).where("kind", "=", "box")
    .where("binary_id", "=", namedFile(request)).executeTakeFirst();
  if (!box) throw notFound("bounding box", request.bboxId);
  return box;
}

function readBox(box: {
  readonly label: string;
  readonly xMin: number;
  readonly yMin: number;
  readonly xMax: number;
  readonly yMax: number;
  readonly confidence: number | undefined;
}) {
  const { label, xMin, yMin, xMax, yMax, confidence } = box;
  if (label === "") throw invalid("label", "it is missing");
  if (label.length > LONGEST_LABEL) throw tooLong("label", LONGEST_LABEL);
  const corners = { x_min: xMin, y_min: yMin, x_max: xMax, y_max: yMax };
  for (const [name, value] of Object.entries({ ...corners, confidence: confidence ?? 0 })) {
    if (value >= 0 && value <= 1) continue;
    const field = name === "confidence" ? name : `${name}_normalized`;
    throw invalid(field, `${value} does not lie between 0 and 1`);
  }
  if (xMin >= xMax) throw invalid("x_max_normalized", "it must be greater than x_min_normalized");
  if (yMin >= yMax) throw invalid("y_max_normalized", "it must be greater than y_min_normalized");
  return { label, confidence: confidence ?? null, ...corners };
}
