import { timingSafeEqual } from "node:crypto";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { DerivedSecrets } from "../../storage/keys/derived_secrets.ts";

/** How long a link opens its file for whoever has it; a server that needs longer signs in. */
const VALID_MS = 15 * 60_000;

/** What a link's signature is worth. */
export type LinkState = "valid" | "expired" | "wrong" | "unsigned";

/** Links to package files, which open them for a time without signing in. */
export class DownloadUrls {
  constructor(
    private readonly secrets: Pick<DerivedSecrets, "downloadSignature">,
    private readonly clock: Clock,
    private readonly publicUrl: () => string,
  ) {}

  /** Where a file is downloaded by who may see it. */
  plain(item: { name: string }, file: { id: string; version: string }): string {
    const name = encodeURIComponent(fileName(item.name, file.version));
    return `${this.publicUrl()}/packages/${file.id}/${name}`;
  }

  /** The same, open to everybody for 15 minutes. */
  signed(item: { name: string }, file: { id: string; version: string }): string {
    const expires = Math.ceil((this.clock.now().getTime() + VALID_MS) / 1_000);
    const signature = this.secrets.downloadSignature(file.id, expires);
    return `${this.plain(item, file)}?expires=${expires}&signature=${signature}`;
  }

  check(fileId: string, expires: string | undefined, signature: string | undefined): LinkState {
    if (expires === undefined || signature === undefined) return "unsigned";
    const seconds = Number(expires);
    if (!/^\d{1,12}$/.test(expires) || !this.#isRight(fileId, seconds, signature)) return "wrong";
    return seconds * 1_000 > this.clock.now().getTime() ? "valid" : "expired";
  }

  #isRight(fileId: string, expires: number, signature: string): boolean {
    const wanted = new TextEncoder().encode(this.secrets.downloadSignature(fileId, expires));
    const given = new TextEncoder().encode(signature);
    return wanted.length === given.length && timingSafeEqual(wanted, given);
  }
}

/** What a downloaded file is called. */
export function fileName(name: string, version: string): string {
  return `${name}-${version.replaceAll(":", "-")}.tar.gz`;
}
