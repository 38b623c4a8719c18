import type { BinaryID } from "../../../shared/gen/viam/app/data/v1/data_pb.ts";
import { invalid, tooMany } from "./capture.ts";

/** What names a file in calls: `organisation/location/file`. */
export function binaryDataId(
  place: { readonly org_id: string; readonly location_id: string },
  fileId: string,
): string {
  return `${place.org_id}/${place.location_id}/${fileId}`;
}

const FILE_ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** The file in an id of today's form, or in one that is only the file. */
export function fileIdOf(id: string, path: string): string {
  const fileId = id.slice(id.lastIndexOf("/") + 1);
  if (FILE_ID.test(fileId)) return fileId;
  throw invalid(path, `${JSON.stringify(id)} is no id of binary data`);
}

const MOST_IDS = 1_000;

/** The files that a call names, each once; callers of old times name them by three ids. */
export function fileIdsOf(
  request: { readonly binaryDataIds: readonly string[]; readonly binaryIds: readonly BinaryID[] },
): string[] {
  const ids = [
    ...request.binaryDataIds.map((id, index) => fileIdOf(id, `binary_data_ids[${index}]`)),
    ...request.binaryIds.map((id, index) => fileIdOf(id.fileId, `binary_ids[${index}].file_id`)),
  ];
  if (ids.length === 0) throw invalid("binary_data_ids", "there are none");
  if (ids.length > MOST_IDS) throw tooMany("binary_data_ids", MOST_IDS);
  return [...new Set(ids)];
}
