import { Code } from "@connectrpc/connect";
import { type RawBuilder, sql } from "kysely";
import { ModelType } from "../../../shared/gen/viam/app/mltraining/v1/ml_training_pb.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import { refusal } from "../../../shared/rpc/reasons.ts";

/** What a managed job is to train on. */
export interface ManagedDataset {
  readonly orgId: string;
  readonly datasetId: string;
  readonly modelType: ModelType;
  /** Labels to train. */
  readonly tags: readonly string[];
}

/** What other clouds of the family request, too. */
const FEWEST_IMAGES = 15;
const LEAST_LABELLED_SHARE = 0.8;
const FEWEST_LABELS = 2;
/** Labels that an error names. */
const MOST_NAMED = 10;

/**
 * Checks that a dataset can be trained on. Only counts come out of the database, so it takes a
 * fraction of a second with 100,000 images.
 *
 * @throws {ConnectError} INVALID_ARGUMENT for tags that no dataset could be trained with,
 * FAILED_PRECONDITION with the counts when this dataset is not fit.
 */
export async function checkManaged(queries: Queries, wish: ManagedDataset): Promise<void> {
  const isDetection = wish.modelType === ModelType.OBJECT_DETECTION;
  const tags = [...new Set(wish.tags)];
  if (!isDetection && tags.length < FEWEST_LABELS) {
    throw refusal(
      "LABELS_FEW",
      { least: FEWEST_LABELS },
      `tags: a classification needs ${FEWEST_LABELS} labels at least, and there is ${tags.length}`,
      Code.InvalidArgument,
    );
  }
  await checkLabelled(queries, wish, isDetection);
  await checkTags(queries, wish, tags);
  if (isDetection) await checkBoxes(queries, wish, tags);
}

async function checkLabelled(
  queries: Queries,
  wish: ManagedDataset,
  isDetection: boolean,
): Promise<void> {
  const labelled = isDetection
    ? hasLabel("box")
    : sql`(${hasTag()} OR ${hasLabel("classification")})`;
  const { rows: [counts] } = await sql<{ images: number; labelled: number }>`
    SELECT COUNT(*) AS images, COUNT(CASE WHEN ${labelled} THEN 1 END) AS labelled
    FROM (${images(wish)}) AS p`.execute(queries);
  if (!counts || counts.images < FEWEST_IMAGES) {
    const images = counts?.images ?? 0;
    throw refusal(
      "DATASET_SMALL",
      { images, least: FEWEST_IMAGES },
      `the dataset has ${images} images, and managed training needs ${FEWEST_IMAGES} at least`,
      Code.FailedPrecondition,
    );
  }
  if (counts.labelled < LEAST_LABELLED_SHARE * counts.images) {
    const least = Math.ceil(LEAST_LABELLED_SHARE * counts.images);
    throw refusal(
      "DATASET_UNLABELLED",
      { labelled: counts.labelled, images: counts.images, least },
      `${counts.labelled} of the dataset's ${counts.images} images have a ` +
        `${isDetection ? "bounding box" : "tag or classification"}, and managed training needs ` +
        `${LEAST_LABELLED_SHARE * 100} % (${least})`,
      Code.FailedPrecondition,
    );
  }
}

/** Looks for one image of each label first: all of them are counted only for the error. */
async function checkTags(queries: Queries, wish: ManagedDataset, tags: string[]): Promise<void> {
  const missing: string[] = [];
  for (const tag of tags) {
    const { rows } = await sql`
      SELECT 1 FROM (${images(wish)}) AS p WHERE ${isTrainedWith(wish, tag, tags)} LIMIT 1`
      .execute(queries);
    if (rows.length === 0) missing.push(JSON.stringify(tag));
  }
  if (missing.length === 0) return;
  const isSingle = wish.modelType === ModelType.SINGLE_LABEL_CLASSIFICATION;
  const how = isSingle ? ", or only together with others that were requested" : "";
  const counts = await labelCounts(queries, wish);
  throw refusal(
    "LABELS_UNUSED",
    { labels: named(missing) },
    `no image of the dataset has ${named(missing)}${how}; images by label: ` +
      (counts.length === 0 ? "none" : named(counts)),
    Code.FailedPrecondition,
  );
}

/** Whether a job takes image p for a label: one for single labels takes none with several. */
function isTrainedWith(
  { modelType }: ManagedDataset,
  tag: string,
  tags: readonly string[],
): RawBuilder<unknown> {
  if (modelType === ModelType.OBJECT_DETECTION) return hasLabel("box", [tag]);
  const has = (labels: readonly string[]) =>
    sql`(${hasTag(labels)} OR ${hasLabel("classification", labels)})`;
  if (modelType === ModelType.MULTI_LABEL_CLASSIFICATION) return has([tag]);
  return sql`${has([tag])} AND NOT ${has(tags.filter((other) => other !== tag))}`;
}

/** Images by label, as texts for people. */
async function labelCounts(queries: Queries, wish: ManagedDataset): Promise<string[]> {
  const annotations = (kind: "box" | "classification") =>
    sql`SELECT p.id, a.label FROM (${images(wish)}) AS p
      JOIN binary_annotations AS a ON a.binary_id = p.id AND a.kind = ${kind}`;
  const labels = wish.modelType === ModelType.OBJECT_DETECTION
    ? sql`SELECT DISTINCT id, label FROM (${annotations("box")}) AS b`
    : sql`${annotations("classification")} UNION
      SELECT p.id, t.tag FROM (${images(wish)}) AS p
        JOIN binary_tags AS t ON t.binary_id = p.id`;
  const { rows } = await sql<{ label: string; images: number }>`
    SELECT label, COUNT(*) AS images FROM (${labels}) AS l
    GROUP BY label ORDER BY images DESC, label`.execute(queries);
  return rows.map(({ label, images }) => `${JSON.stringify(label)} ${images}`);
}

async function checkBoxes(queries: Queries, wish: ManagedDataset, tags: string[]): Promise<void> {
  const { rows: [counts] } = await sql<{ boxes: number; wrong: number }>`
    SELECT COUNT(*) AS boxes,
      COUNT(CASE WHEN NOT (${IN_IMAGE}) THEN 1 END) AS wrong
    FROM (${images(wish)}) AS p
    JOIN binary_annotations AS a
      ON a.binary_id = p.id AND a.kind = 'box' AND a.label || '' IN (${sql.join(tags)})`
    .execute(queries);
  if (!counts || counts.wrong === 0) return;
  throw refusal(
    "BOXES_WRONG",
    { wrong: counts.wrong, boxes: counts.boxes },
    `${counts.wrong} of the dataset's ${counts.boxes} bounding boxes with these labels ` +
      "are none: they need 0 <= x_min < x_max <= 1 and " +
      "0 <= y_min < y_max <= 1; correct or remove them",
    Code.FailedPrecondition,
  );
}

const IN_IMAGE = sql`a.x_min >= 0 AND a.x_min < a.x_max AND a.x_max <= 1
  AND a.y_min >= 0 AND a.y_min < a.y_max AND a.y_max <= 1`;

/** Whether image p has one of the tags; without tags: any. */
function hasTag(tags?: readonly string[]): RawBuilder<unknown> {
  const which = tags ? sql`AND t.tag IN (${sql.join(tags)})` : sql``;
  return sql`EXISTS (SELECT 1 FROM binary_tags AS t WHERE t.binary_id = p.id ${which})`;
}

/** The same for annotations. */
function hasLabel(kind: "box" | "classification", labels?: readonly string[]): RawBuilder<unknown> {
  const which = labels ? sql`AND a.label IN (${sql.join(labels)})` : sql``;
  return sql`EXISTS (SELECT 1 FROM binary_annotations AS a
    WHERE a.binary_id = p.id AND a.kind = ${kind} ${which})`;
}

/**
 * Ids of what the dataset has written out for a managed job: its images alone. No bare column keeps the
 * database from going through all data of the organisation in place of the dataset's.
 */
function images({ orgId, datasetId }: ManagedDataset): RawBuilder<unknown> {
  return sql`SELECT b.id FROM dataset_files AS d
    JOIN datasets AS s ON s.id = d.dataset_id AND s.org_id = ${orgId}
    JOIN binary_data AS b ON b.id = d.binary_id AND b.org_id || '' = ${orgId}
    WHERE d.dataset_id = ${datasetId} AND lower(b.mime_type) LIKE 'image/%'`;
}

function named(texts: readonly string[]): string {
  const more = texts.length - MOST_NAMED;
  return texts.slice(0, MOST_NAMED).join(", ") + (more > 0 ? ` and ${more} more` : "");
}
