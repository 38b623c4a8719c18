import { signedText } from "../../../shared/transfer/releases/manifest.ts";
import type { Peer } from "../../../shared/rpc/server/peer.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { Program } from "../../storage/database/release_schema.ts";
import {
  answerWithFile,
  type FileRequest,
  openForAnswer,
  refusal,
} from "../../storage/blobs/blob_answer.ts";
import type { BlobStore } from "../../storage/blobs/blob_store.ts";
import { PROGRAMS } from "./checks.ts";
import type { DownloadSlots } from "./download_slots.ts";
import type { KnownFile, KnownRelease } from "./known_release.ts";
import type { Catalogue, ReleaseCatalogue } from "./release_catalogue.ts";
import { programFile, releaseUrl } from "./release_urls.ts";
import { resolve } from "./resolve.ts";
import { parseSelector } from "./selectors.ts";

export interface ReleaseFilesOptions {
  readonly catalogue: Pick<ReleaseCatalogue, "read">;
  readonly blobs: Pick<BlobStore, "read">;
  readonly slots: DownloadSlots;
  readonly clock: Clock;
  readonly publicUrl: () => string;
}

/** What is requested under `/releases/`. */
export interface ReleaseFileRequest extends FileRequest {
  /** What follows `/releases/`, decoded, in pieces. */
  readonly path: readonly string[];
  readonly peer: Peer;
}

interface Found {
  readonly program: Program;
  readonly release: KnownRelease;
  readonly file: KnownFile;
}

/** Nobody's id: a new machine is in no rollout by chance. */
const NEW_MACHINE = { id: "", tags: [], installed: "" };

/**
 * Answers with the files of releases, to everybody: they are signed and no secret, and a machine
 * that is being set up has no key yet. `PROGRAM/VERSION/OS/ARCHITECTURE/FILE`, where the version
 * may be `stable` or `dev`; with `.sha256`, `.manifest` and `.sig` behind it what shows that the
 * file is right; `key.pem` is the key that signs.
 */
export function releaseFiles(options: ReleaseFilesOptions) {
  return async (request: ReleaseFileRequest): Promise<Response> => {
    const catalogue = await options.catalogue.read();
    if (request.path.length === 1 && request.path[0] === "key.pem") return keyFile(catalogue);
    const [name, version = "", os = "", architecture = "", file = ""] = request.path;
    const program = PROGRAMS.find((known) => known === name);
    if (!program || request.path.length !== 5) {
      return refusal(404, "no such file; write /releases/PROGRAM/VERSION/OS/ARCHITECTURE/FILE");
    }
    const platform = `${os}/${architecture}`;
    const wanted = programFile(program, platform);
    const suffix = file.startsWith(wanted) ? file.slice(wanted.length) : undefined;
    if (suffix === undefined || !["", ".sha256", ".manifest", ".sig"].includes(suffix)) {
      return refusal(404, `no such file; the file for ${platform} is called ${wanted}`);
    }
    if (version === "stable" || version === "dev") {
      return redirect(options, catalogue, { program, channel: version, platform, suffix });
    }
    const release = catalogue.releases.find((known) =>
      known.program === program && known.version === version
    );
    const known = release?.files.find((each) => each.platform === platform);
    if (!release || !known) {
      return refusal(404, `there is no release ${version} of ${program} for ${platform}`);
    }
    if (release.withdrawnAtMs !== undefined) {
      return refusal(410, `release ${version} of ${program} was withdrawn`);
    }
    const found = { program, release, file: known };
    return suffix === "" ? await binary(options, request, found) : proof(found, suffix);
  };
}

async function binary(
  { blobs, slots, clock }: ReleaseFilesOptions,
  request: ReleaseFileRequest,
  { program, release, file }: Found,
): Promise<Response> {
  const slot = slots.take(request.peer.address);
  if (!slot) {
    const message = "too many downloads of releases at the same time; try again later";
    return refusal(429, message, { "retry-after": "10" });
  }
  let answered = false;
  try {
    const blob = await openForAnswer(blobs, file.id);
    if (blob instanceof Response) return blob;
    if (!blob) return refusal(404, `the file of release ${release.version} was deleted`);
    const name = programFile(program, file.platform);
    const response = await answerWithFile(request, blob, {
      size: file.size,
      sha256: file.sha256,
      createdAtMs: file.addedAtMs,
      // A release never changes, but it may be withdrawn.
      cacheControl: "public, max-age=600, no-transform",
      headers: {
        "content-type": "application/octet-stream",
        "content-disposition": `attachment; filename="${name}"`,
        "x-release-version": release.version,
      },
    }, { clock, onEnd: () => slot.release() });
    answered = true;
    return response;
  } finally {
    if (!answered) slot.release();
  }
}

/** The newest release of a channel that goes to everybody. */
function redirect(
  { publicUrl }: ReleaseFilesOptions,
  { releases }: Catalogue,
  { program, channel, platform, suffix }: {
    program: Program;
    channel: "stable" | "dev";
    platform: string;
    suffix: string;
  },
): Response {
  const open = releases.filter(({ rollout }) =>
    !rollout || (rollout.state === "running" && rollout.percent >= 100)
  );
  const found = resolve(program, parseSelector(channel), open, { ...NEW_MACHINE, platform });
  if (found.kind !== "release") {
    return refusal(404, `there is no release of ${program} on channel ${channel} for ${platform}`);
  }
  const version = found.release.version;
  const location = releaseUrl(publicUrl(), program, { version, platform }) + suffix;
  return new Response(null, {
    status: 302,
    headers: { location, "cache-control": "no-store", "x-release-version": version },
  });
}

/** What shows that a downloaded file is the release. */
function proof({ program, release, file }: Found, suffix: string): Response {
  const { version } = release;
  const { platform, size, sha256 } = file;
  switch (suffix) {
    case ".sha256":
      return text(`${sha256}  ${programFile(program, platform)}\n`);
    case ".manifest":
      return text(signedText({ binary: program, version, platform, size, sha256 }));
    default:
      return new Response(Uint8Array.fromBase64(file.signature), {
        headers: { "content-type": "application/octet-stream", "cache-control": "no-store" },
      });
  }
}

/** The newest key, in the form that openssl reads. */
function keyFile({ keys }: Catalogue): Response {
  const key = keys.at(-1);
  if (!key) return refusal(404, "there is no release key yet; the first release makes it");
  const der = new Uint8Array([...ED25519_PUBLIC_KEY, ...key.publicKey]);
  return text(`-----BEGIN PUBLIC KEY-----\n${der.toBase64()}\n-----END PUBLIC KEY-----\n`);
}

/** What stands before the 32 bytes in a SubjectPublicKeyInfo (RFC 8410). */
const ED25519_PUBLIC_KEY = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0];

function text(body: string): Response {
  return new Response(body, {
    headers: { "content-type": "text/plain; charset=utf-8", "cache-control": "no-store" },
  });
}
