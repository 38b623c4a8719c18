import { createHash } from "node:crypto";
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { Client } from "@connectrpc/connect";
import { toFileError } from "../../base/files/fs_error.ts";
import type {
  AddReleaseInfoSchema,
  Release,
  ReleaseService,
} from "../../gen/machine/cloud/v1/releases_pb.ts";

const PIECE_BYTES = 256 * 1024;
/** Longer than any upload; without it a call is ended after ten minutes. */
const LONGEST_UPLOAD_MS = 12 * 60 * 60_000;

/** Sends a file of a release; the cloud checks that it came as it is. @throws {FileError} */
export async function sendRelease(
  client: Client<typeof ReleaseService>,
  info: MessageInitShape<typeof AddReleaseInfoSchema>,
  path: string,
): Promise<Release | undefined> {
  const sha256 = await hashOf(path);
  let unreadable: unknown;
  async function* pieces() {
    yield { piece: { case: "info" as const, value: { ...info, sha256 } } };
    try {
      for await (const value of readFile(path)) {
        yield { piece: { case: "contents" as const, value } };
      }
    } catch (error) {
      unreadable = error;
      throw error;
    }
  }
  try {
    const { release } = await client.addRelease(pieces(), { timeoutMs: LONGEST_UPLOAD_MS });
    return release;
  } catch (error) {
    throw unreadable ?? error;
  }
}

async function hashOf(path: string): Promise<Uint8Array<ArrayBuffer>> {
  const hash = createHash("sha256");
  for await (const piece of readFile(path)) hash.update(piece);
  return new Uint8Array(hash.digest());
}

async function* readFile(path: string): AsyncIterable<Uint8Array<ArrayBuffer>> {
  try {
    using file = await Deno.open(path, { read: true });
    for (;;) {
      const buffer = new Uint8Array(PIECE_BYTES);
      const count = await file.read(buffer);
      if (count === null) return;
      yield buffer.subarray(0, count);
    }
  } catch (error) {
    throw toFileError(error, "read the release", path);
  }
}
