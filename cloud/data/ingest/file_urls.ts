import { timingSafeEqual } from "node:crypto";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { DerivedSecrets } from "../../storage/keys/derived_secrets.ts";
import type { LinkState } from "../../registry/packages/download_urls.ts";

/** Links to files of data. */
export class FileUrls {
  constructor(
    private readonly secrets: Pick<DerivedSecrets, "downloadSignature">,
    private readonly clock: Clock,
    private readonly publicUrl: () => string,
  ) {}

  /** Where a file is downloaded by who signs in and may see it. */
  plain({ id, file_extension: extension }: { id: string; file_extension: string }): string {
    return `${this.publicUrl()}/data/files/${id}${
      /^\.[\w.]{1,20}$/.test(extension) ? extension : ""
    }`;
  }

  /** The same, open to everybody for a time. */
  signed(file: { id: string; file_extension: string }, validMs: number) {
    return this.#link(this.plain(file), `data/${file.id}`, validMs);
  }

  /** A link to an export of a dataset, open to everybody for a time. */
  signedExport(id: string, validMs: number) {
    return this.#link(`${this.publicUrl()}/data/exports/${id}.tar.gz`, `export/${id}`, validMs);
  }

  check(id: string, expires: string | undefined, signature: string | undefined): LinkState {
    return this.#check(`data/${id}`, expires, signature);
  }

  checkExport(id: string, expires: string | undefined, signature: string | undefined): LinkState {
    return this.#check(`export/${id}`, expires, signature);
  }

  #link(url: string, name: string, validMs: number) {
    const expires = Math.ceil((this.clock.now().getTime() + validMs) / 1_000);
    const signature = this.secrets.downloadSignature(name, expires);
    return {
      url: `${url}?expires=${expires}&signature=${signature}`,
      expiresAt: new Date(expires * 1_000),
    };
  }

  #check(name: string, expires: string | undefined, signature: string | undefined): LinkState {
    if (expires === undefined || signature === undefined) return "unsigned";
    const seconds = Number(expires);
    if (!/^\d{1,12}$/.test(expires) || !this.#isRight(name, seconds, signature)) return "wrong";
    return seconds * 1_000 > this.clock.now().getTime() ? "valid" : "expired";
  }

  /** The names begin with a word, so that a link to a package with the same id opens nothing here. */
  #isRight(name: string, expires: number, signature: string): boolean {
    const wanted = new TextEncoder().encode(this.secrets.downloadSignature(name, expires));
    const given = new TextEncoder().encode(signature);
    return wanted.length === given.length && timingSafeEqual(wanted, given);
  }
}
