import type { Logger } from "../../shared/log/logger.ts";
import type { Clock } from "../../shared/base/time/clock.ts";
import type { TlsPair } from "../operations/tls/pair.ts";
import { WatchedCertificate } from "../operations/tls/watched_certificate.ts";

/** Certificate and key of the port. */
export interface TlsSetting extends TlsPair {
  /** Where they come from; left out: they stay as they are. */
  readonly files?: { readonly cert: string; readonly key: string } | undefined;
}

/** The certificate of the cloud's own port. */
export class Tls {
  #take: (pair: TlsPair) => void = () => undefined;

  private constructor(
    readonly pair: TlsPair,
    private readonly source: WatchedCertificate | undefined,
  ) {}

  /** Undefined without TLS. */
  static async open(
    setting: TlsSetting | undefined,
    { clock, log }: { readonly dataDir: string; readonly clock: Clock; readonly log: Logger },
  ): Promise<Tls | undefined> {
    if (!setting) return await Promise.resolve(undefined);
    const { files, ...pair } = setting;
    const tls: Tls = new Tls(
      pair,
      files &&
        new WatchedCertificate({ files, pair, clock, log, onChange: (pair) => tls.#take(pair) }),
    );
    return tls;
  }

  /** When the certificate ends that is served. */
  get notAfter(): Date | undefined {
    return this.source?.notAfter;
  }

  /** Brings new certificates to `take` until the signal aborts. */
  async run(take: (pair: TlsPair) => void, signal: AbortSignal): Promise<void> {
    this.#take = take;
    await this.source?.run(signal);
  }
}
