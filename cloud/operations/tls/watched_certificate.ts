import type { Logger } from "../../../shared/log/logger.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import { describeEnd, ENDS_SOON_MS, inspectPair, type TlsPair } from "./pair.ts";
import { pollLoop } from "../../../shared/workers/poll_loop.ts";

const LOOK_EVERY_MS = 2_000;
const SAY_EVERY_MS = 86_400_000;

export interface WatchedCertificateOptions {
  readonly files: { readonly cert: string; readonly key: string };
  /** What is served now. */
  readonly pair: TlsPair;
  readonly clock: Clock;
  readonly log: Logger;
  /** Takes a new pair for connections from now on. */
  readonly onChange: (pair: TlsPair) => void;
  readonly read?: (path: string) => Promise<string>;
}

/**
 * Looks at the files of a certificate, and takes what is new in them. Files that do not fit, as in
 * the middle of a renewal, or that cannot be read change nothing; the log says so once.
 */
export class WatchedCertificate {
  #pair: TlsPair;
  #complained = "";
  #saidEndMs = -Infinity;

  constructor(private readonly options: WatchedCertificateOptions) {
    this.#pair = options.pair;
  }

  /** When the certificate ends that is served. */
  get notAfter(): Date {
    return inspectPair(this.#pair).notAfter;
  }

  /** Looks until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.options;
    await pollLoop(() => this.look(), { clock, intervalMs: LOOK_EVERY_MS }, signal);
  }

  /** Looks once. */
  async look(): Promise<void> {
    const { files, log, clock, onChange, read = Deno.readTextFile } = this.options;
    try {
      const found = { cert: await read(files.cert), key: await read(files.key) };
      if (found.cert !== this.#pair.cert || found.key !== this.#pair.key) {
        const { notAfter } = inspectPair(found);
        onChange(found);
        this.#pair = found;
        this.#saidEndMs = -Infinity;
        log.info("took the new certificate", {
          event: "certificate_renewed",
          file: files.cert,
          ends: notAfter.toISOString(),
        });
      }
      this.#complained = "";
    } catch (error) {
      const problem = (error as Error).message;
      if (problem !== this.#complained) {
        log.error("the certificate files cannot be used; the one from before stays", {
          event: "certificate_failed",
          ...{ cert: files.cert, key: files.key, error: problem },
        });
      }
      this.#complained = problem;
    }
    this.#saidEndMs = sayEnd(this.notAfter, { clock, log, saidMs: this.#saidEndMs });
  }
}

/** Warns once a day of a certificate that ends soon. @returns when that was said last */
export function sayEnd(
  notAfter: Date,
  { clock, log, saidMs }: { clock: Clock; log: Logger; saidMs: number },
): number {
  const nowMs = clock.now().getTime();
  if (notAfter.getTime() - nowMs > ENDS_SOON_MS || nowMs - saidMs < SAY_EVERY_MS) return saidMs;
  log.warn(`the certificate of this cloud ${describeEnd(notAfter, clock.now())}; renew it`, {
    event: "certificate_expiring",
  });
  return nowMs;
}
