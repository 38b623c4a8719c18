import { join } from "node:path";
import { writeFileAtomic } from "../../../shared/base/files/atomic_write.ts";
import { toFileError } from "../../../shared/base/files/fs_error.ts";
import { readIfExists } from "../../../shared/base/files/read_file.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import type { SteadyTime } from "../../storage/steady_time/steady_time.ts";
import type { PartRow } from "../access/scope.ts";
import { hostNames } from "../../api/addresses/host_names.ts";
import type { AuthorityFiles, CertificateAuthority, CertificatePair } from "./authority.ts";
import type { SharedAuthority } from "./shared_authority.ts";

export interface MachineCertificatesOptions {
  readonly dataDir: string;
  /** Left out: an authority of the cloud's own. */
  readonly files?: AuthorityFiles | undefined;
  /** Where the authority of the cloud's own is; left out: in the data folder. */
  readonly shared?: SharedAuthority | undefined;
  /** Domain of the machines' host names. */
  readonly domain: string;
  readonly time: Pick<SteadyTime, "cautious" | "strict">;
  readonly log: Logger;
}

/** Below the cloud's folder; for its owner only. */
const FOLDER = "certificates";
/** Machines ask each hour; who is away for two months comes back with a good certificate. */
const DAY_MS = 86_400_000;
const RENEW_MS = 30 * DAY_MS;
/** More than one has at first, and one of a clock that was ahead has more. */
const LONGEST_LEFT_MS = 92 * DAY_MS;

interface Kept extends CertificatePair {
  readonly names: readonly string[];
  readonly authority: string;
  /** Milliseconds since 1970; left out: by a version that did not note it. */
  readonly notBefore?: number;
  /** Milliseconds since 1970. */
  readonly notAfter: number;
}

/**
 * The certificates of machines, each for the names of its part. A machine gets the same one until
 * it is to be renewed: servers begin to listen again with another one, which ends their
 * connections.
 */
export class MachineCertificates {
  readonly #making = new Map<string, Promise<Kept>>();
  #authority: Promise<CertificateAuthority> | undefined;
  #warnedMs = -Infinity;

  constructor(private readonly options: MachineCertificatesOptions) {}

  /** What has to be trusted, PEM. @throws {AuthorityError}, {FileError} */
  async rootPem(): Promise<string> {
    return (await this.#open()).rootPem;
  }

  /** The certificate of a part. @throws {AuthorityError}, {FileError} */
  async of(part: Pick<PartRow, "id" | "dns_label" | "location_id">): Promise<CertificatePair> {
    const making = this.#making.get(part.id) ?? this.#keptOrNew(part);
    this.#making.set(part.id, making);
    try {
      return await making;
    } finally {
      this.#making.delete(part.id);
    }
  }

  async #keptOrNew(part: Pick<PartRow, "id" | "dns_label" | "location_id">): Promise<Kept> {
    const { domain, dataDir, time } = this.options;
    const { fqdn, localFqdn } = hostNames(part.dns_label, part.location_id, domain);
    const names = [fqdn, localFqdn];
    const authority = await this.#inForce();
    const [now, latest] = [time.cautious.now(), time.strict.now()];
    const folder = join(dataDir, FOLDER);
    const path = join(folder, `${part.id}.json`);
    const kept = parse(await readIfExists(path));
    const isGood = kept && kept.authority === authority.id &&
      isInTime(kept, { now, latest, authority }) && kept.names.join() === names.join();
    if (isGood) return kept;
    const { certificate, key, notBefore, notAfter } = await authority.issue({
      ...{ names, commonName: part.id, now, latest },
    });
    const made = {
      ...{ names, authority: authority.id, certificate, key },
      ...{ notBefore: notBefore.getTime(), notAfter: notAfter.getTime() },
    };
    await makeFolder(folder);
    await writeFileAtomic(path, JSON.stringify(made), { mode: 0o600 });
    return made;
  }

  /** The authority while it lasts; one that has ended is opened again, as it may be renewed. */
  async #inForce(): Promise<CertificateAuthority> {
    const authority = await this.#open();
    const nowMs = this.options.time.cautious.now().getTime();
    const leftMs = authority.notAfter.getTime() - nowMs;
    if (leftMs <= 0) {
      this.#authority = undefined;
      return await this.#open();
    }
    if (leftMs <= RENEW_MS && nowMs - this.#warnedMs >= DAY_MS) {
      this.#warnedMs = nowMs;
      this.options.log.warn("the certificate authority of the machines expires soon; renew it", {
        event: "authority_expiring",
        ends: authority.notAfter.toISOString(),
      });
    }
    return authority;
  }

  #open(): Promise<CertificateAuthority> {
    const { dataDir, files, shared, time } = this.options;
    // Its library is loaded with the first machine that asks.
    const opening = this.#authority ??= import("./authority.ts").then(({ CertificateAuthority }) =>
      CertificateAuthority.open(dataDir, { files, shared, now: time.cautious.now() })
    );
    opening.catch(() => {
      this.#authority = undefined;
    });
    return opening;
  }
}

/** Good by both times; one that was made while the clock was wrong lasts too long or begins late. */
function isInTime(
  { notBefore, notAfter }: Kept,
  { now, latest, authority }: {
    readonly now: Date;
    readonly latest: Date;
    readonly authority: Pick<CertificateAuthority, "notAfter">;
  },
): boolean {
  const leftMs = notAfter - latest.getTime();
  // Another one would end with the authority, too.
  const isLongest = notAfter >= authority.notAfter.getTime();
  return (leftMs > RENEW_MS || isLongest) && leftMs <= LONGEST_LEFT_MS &&
    (notBefore ?? 0) <= now.getTime();
}

function parse(text: string | undefined): Kept | undefined {
  try {
    const kept = JSON.parse(text ?? "null");
    return typeof kept?.certificate === "string" && typeof kept.key === "string" &&
        Array.isArray(kept.names)
      ? kept
      : undefined;
  } catch {
    return undefined; // made again
  }
}

async function makeFolder(path: string): Promise<void> {
  try {
    await Deno.mkdir(path, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw toFileError(error, "create the folder of certificates", path);
  }
}
