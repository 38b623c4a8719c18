import { createHash } from "node:crypto";
import type { Timestamp } from "@bufbuild/protobuf/wkt";

/**
 * What makes two uploads the same one, sent again because its answer was lost: they come from one
 * method of one component of one part (that is the source, and stands next to the digest), and all
 * that follows is equal.
 *
 * - Readings: the parameters, the tags, and of each reading in order both times to the nanosecond
 *   and the captured values. Neither the order of keys nor that of tags matters: protobuf maps
 *   have none, and a machine that reads its capture file again may send another one.
 * - Files and binaries: the parameters, name, extension, the times that came with it, and the
 *   contents. Tags and datasets are left out: a file that is sent again with more of them gets
 *   them, and is not kept twice.
 *
 * Machines send no id of their capture file; two files that are equal in all of this are one.
 * Readings without any time say too little: equal ones may be new, and each upload counts.
 *
 * @param uniqueId for an upload that is like no other.
 */
export function readingsDigest(
  about: { readonly parameters: string; readonly tags: readonly string[] },
  readings: readonly { readonly times: ExactTimes; readonly data: string }[],
  uniqueId: () => string,
): string {
  if (readings.some(({ times }) => times.every((time) => time === undefined))) return uniqueId();
  const hash = createHash("sha256");
  hash.update(JSON.stringify(["readings", about.parameters, [...about.tags].sort()]));
  for (const { times, data } of readings) hash.update(`\n${exactText(times)} ${data}`);
  return hash.digest("base64url");
}

/** See {@link readingsDigest}. `sha256` is that of the contents. */
export function fileDigest(
  about: {
    readonly kind: "binary" | "file";
    readonly parameters: string;
    readonly fileName: string;
    readonly fileExtension: string;
    readonly times: ExactTimes;
  },
  sha256: string,
): string {
  const { kind, parameters, fileName, fileExtension, times } = about;
  const parts = [kind, parameters, fileName, fileExtension, exactText(times), sha256];
  return createHash("sha256").update(JSON.stringify(parts)).digest("base64url");
}

/** Times as they were sent; undefined where none was. */
export type ExactTimes = readonly (Timestamp | undefined)[];

function exactText(times: ExactTimes): string {
  return times.map((time) => time ? `${time.seconds}.${time.nanos}` : "-").join(" ");
}
