import { createHash } from "node:crypto";
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { Client } from "@connectrpc/connect";
import type { ProgressPlace } from "../output/progress.ts";
import { sendFile } from "../upload/send_file.ts";
import { toFileError } from "../../base/files/fs_error.ts";
import type {
  AddReleaseInfoSchema,
  Release,
  ReleaseService,
} from "../../gen/machine/cloud/v1/releases_pb.ts";

const PIECE_BYTES = 256 * 1024;

/** Sends a file of a release; the cloud checks that it came as it is. @throws {FileError} */
export async function sendRelease(
  client: Client<typeof ReleaseService>,
  info: MessageInitShape<typeof AddReleaseInfoSchema>,
  path: string,
  place: ProgressPlace,
): Promise<Release | undefined> {
  const sha256 = await hashOf(path);
  const { release } = await sendFile(path, {
    first: { piece: { case: "info" as const, value: { ...info, sha256 } } },
    piece: (value) => ({ piece: { case: "contents" as const, value } }),
    call: (messages, options) => client.addRelease(messages, options),
    what: "release",
  }, place);
  return release;
}

async function hashOf(path: string): Promise<Uint8Array<ArrayBuffer>> {
  const hash = createHash("sha256");
  try {
    using file = await Deno.open(path, { read: true });
    const buffer = new Uint8Array(PIECE_BYTES);
    for (;;) {
      const count = await file.read(buffer);
      if (count === null) return new Uint8Array(hash.digest());
      hash.update(buffer.subarray(0, count));
    }
  } catch (error) {
    throw toFileError(error, "read the release", path);
  }
}
