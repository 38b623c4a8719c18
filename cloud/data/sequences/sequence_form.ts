import type { MessageInitShape } from "@bufbuild/protobuf";
import type { Timestamp } from "@bufbuild/protobuf/wkt";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { Selectable } from "kysely";
import type {
  SequenceResourceFilter,
  SequenceSchema,
} from "../../../shared/gen/viam/app/data/v1/data_pb.ts";
import { parseTexts } from "../ingest/stored_json.ts";
import { invalid } from "../ingest/capture.ts";
import { microseconds, timestampOf } from "../ingest/times.ts";
import type { SequencesTable } from "../../storage/database/sequence_schema.ts";

export type SequenceRow = Selectable<SequencesTable>;

/** A resource of a part, or one of its methods; an empty method stands for all. */
export interface SequenceResource {
  readonly resource: string;
  readonly method: string;
}

const MOST_RESOURCES = 100;
const MOST_TAGS = 200;
const LONGEST_NAME = 1_024;

/** Each once, in the order in which they were given. */
export function readResources(
  resources: readonly Pick<SequenceResourceFilter, "resourceName" | "methodName">[],
): SequenceResource[] {
  if (resources.length === 0) throw invalid("resources", "there are none; name one at least");
  if (resources.length > MOST_RESOURCES) {
    throw invalid("resources", `there are more than ${MOST_RESOURCES}`);
  }
  const read = resources.map(({ resourceName, methodName }, index) => {
    if (resourceName === "") throw invalid(`resources[${index}].resource_name`, "it is missing");
    if (resourceName.length + methodName.length > LONGEST_NAME) {
      throw invalid(`resources[${index}]`, `it is longer than ${LONGEST_NAME} characters`);
    }
    return { resource: resourceName, method: methodName };
  });
  return [...new Map(read.map((one) => [JSON.stringify(one), one])).values()];
}

export function readSequenceTags(tags: readonly string[]): string[] {
  if (tags.length > MOST_TAGS) throw invalid("sequence_tags", `there are more than ${MOST_TAGS}`);
  const long = tags.findIndex((tag) => tag.length > LONGEST_NAME);
  if (long >= 0) {
    throw invalid(`sequence_tags[${long}]`, `it is longer than ${LONGEST_NAME} characters`);
  }
  return [...new Set(tags.filter((tag) => tag !== ""))].sort();
}

/** A time of a sequence. @param path `start_time` */
export function readTime(time: Timestamp | undefined, path: string): number {
  if (!time) throw invalid(path, "it is missing");
  const us = microseconds(time);
  if (us === undefined) throw invalid(path, "it is no time between the years 1684 and 2255");
  return us;
}

export function requireSpan({ start_us, end_us }: Pick<SequenceRow, "start_us" | "end_us">): void {
  if (start_us >= end_us) throw invalid("end_time", "it is not after start_time");
}

export function resourcesOf({ resources }: Pick<SequenceRow, "resources">): SequenceResource[] {
  return JSON.parse(resources) as SequenceResource[];
}

export function toSequence(
  row: SequenceRow,
  datasetIds: readonly string[],
): MessageInitShape<typeof SequenceSchema> {
  return {
    id: row.id,
    partId: row.part_id,
    sequenceTags: parseTexts(row.tags),
    createdAt: timestampFromMs(row.created_at),
    updatedAt: timestampFromMs(row.updated_at),
    startTime: timestampOf(row.start_us),
    endTime: timestampOf(row.end_us),
    resources: resourcesOf(row).map(({ resource, method }) => ({
      resourceName: resource,
      methodName: method,
    })),
    datasetIds: [...datasetIds],
  };
}
