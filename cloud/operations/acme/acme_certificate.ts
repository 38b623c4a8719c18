import { faultPoint } from "../../../shared/base/faults/fault_point.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import { Backoff } from "../../../shared/base/time/backoff.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import { sayEnd } from "../tls/watched_certificate.ts";
import { inspectPair, type TlsPair } from "../tls/pair.ts";
import { pollLoop } from "../../../shared/workers/poll_loop.ts";
import type { AcmeStore } from "./acme_store.ts";
import { DirectoryError } from "./directory.ts";
import type { HttpChallenges } from "./http_challenges.ts";
import { placeholderPair } from "./placeholder.ts";

/** What an operator requests. */
export interface AcmeSettings {
  /** Names of the certificate, the first of them its own. */
  readonly domains: readonly string[];
  /** Notified by the ACME server of certificates that end. */
  readonly email?: string | undefined;
  /** The directory of the ACME server. */
  readonly directoryUrl: string;
}

/** Asks an ACME server for a certificate. */
export type Order = (
  request: AcmeSettings & { readonly accountKey: string; readonly challenges: HttpChallenges },
) => Promise<TlsPair>;

export interface AcmeCertificateOptions extends AcmeSettings {
  readonly store: AcmeStore;
  /** Whether this node is the one that orders. */
  readonly mayOrder: () => boolean;
  readonly challenges: HttpChallenges;
  readonly order: Order;
  readonly newAccountKey: () => Promise<string>;
  readonly clock: Clock;
  readonly log: Logger;
}

/** ACME servers request a renewal when a third of the life is left. */
const LIFE_LEFT = 1 / 3;
const LOOK_EVERY_MS = 3_600_000;
/** How long other nodes serve with the certificate of before. */
const LOOK_AT_OTHERS_MS = 60_000;
/** While there is none that anybody trusts. */
const WAIT_FOR_OTHERS_MS = 2_000;
/** Let's Encrypt takes five failures an hour for a name. */
const BACKOFF = { minMs: 15 * 60_000, maxMs: 12 * 3_600_000 } as const;

/**
 * The certificate of the cloud by ACME: certificate and key are kept as one text, so that they always
 * belong together. Where nodes share the store one of them orders, and the others take what it got.
 */
export class AcmeCertificate {
  readonly #backoff = new Backoff(BACKOFF);
  #saidEndMs = -Infinity;

  private constructor(
    private readonly options: AcmeCertificateOptions,
    /** What to serve with. */
    private current: TlsPair,
    private isPlaceholder: boolean,
  ) {}

  /** With what was kept; with a certificate that nobody trusts when there is none yet. */
  static async open(options: AcmeCertificateOptions): Promise<AcmeCertificate> {
    const { store, domains, clock, log } = options;
    const text = await store.certificate();
    const kept = text === undefined ? undefined : splitPem(text);
    if (kept) {
      try {
        const { covers } = inspectPair(kept);
        if (domains.every(covers)) return new AcmeCertificate(options, kept, false);
        log.info("the certificate that was kept is not for all names of --acme-domain");
      } catch (error) {
        log.error("the certificate that was kept cannot be used; asking for another one", {
          event: "certificate_failed",
          error: (error as Error).message,
        });
      }
    }
    return new AcmeCertificate(options, await placeholderPair(domains, clock.now()), true);
  }

  get pair(): TlsPair {
    return this.current;
  }

  /** When the certificate ends that is served. */
  get notAfter(): Date {
    return inspectPair(this.current).notAfter;
  }

  /** Renews until the signal aborts; an order that is under way is then left to itself. */
  async run(onChange: (pair: TlsPair) => void, signal: AbortSignal): Promise<void> {
    const { clock } = this.options;
    const { promise: stopped, resolve } = Promise.withResolvers<number>();
    signal.addEventListener("abort", () => resolve(0), { once: true });
    const tell = (pair: TlsPair) => signal.aborted ? undefined : onChange(pair);
    const turn = () => Promise.race([this.look(tell), stopped]);
    await pollLoop(turn, { clock, intervalMs: LOOK_EVERY_MS }, signal);
  }

  /** Requests a certificate where one is needed. @returns milliseconds until the next look */
  async look(onChange: (pair: TlsPair) => void): Promise<number> {
    const { clock, log, domains, order, store, mayOrder } = this.options;
    try {
      if (store.isShared) await this.#adopt(onChange);
    } catch (error) {
      log.warn("cannot look for the certificate of the other nodes; retrying", {
        error: (error as Error).message,
      });
      return LOOK_AT_OTHERS_MS;
    }
    const laterMs = store.isShared ? LOOK_AT_OTHERS_MS : LOOK_EVERY_MS;
    if (!this.isPlaceholder) {
      const { notBefore, notAfter } = inspectPair(this.current);
      const left = notAfter.getTime() - clock.now().getTime();
      this.#saidEndMs = sayEnd(notAfter, { clock, log, saidMs: this.#saidEndMs });
      if (left > (notAfter.getTime() - notBefore.getTime()) * LIFE_LEFT) return laterMs;
    }
    if (!mayOrder()) return this.isPlaceholder ? WAIT_FOR_OTHERS_MS : laterMs;
    try {
      const made = await order({ ...this.options, accountKey: await this.#accountKey() });
      const { notAfter } = inspectPair(made);
      faultPoint("acme.certificate.before-write");
      const text = `${made.cert.trim()}\n${made.key.trim()}\n`;
      await store.keepCertificate(text);
      this.current = made;
      this.isPlaceholder = false;
      this.#backoff.reset();
      onChange(made);
      log.info("got a certificate", {
        event: "certificate_renewed",
        domains,
        ends: notAfter.toISOString(),
      });
      return laterMs;
    } catch (error) {
      // At least half: others must not come back at the same time, and nobody at once.
      const waitMs = BACKOFF.minMs / 2 + this.#backoff.next();
      log.error("got no certificate; retrying", {
        event: "certificate_failed",
        domains,
        in_minutes: Math.round(waitMs / 60_000),
        error: (error as Error).message,
        advice: error instanceof DirectoryError
          ? "this host must reach the ACME server; SSL_CERT_FILE names the certificate authority of " +
            "one of your own"
          : "each name must resolve to this host, and port 80 of it must lead to --acme-listen",
      });
      return waitMs;
    }
  }

  async #accountKey(): Promise<string> {
    const { store, newAccountKey } = this.options;
    return await store.account() ?? await store.keepAccount(await newAccountKey());
  }

  /** Takes a certificate that another node got. */
  async #adopt(onChange: (pair: TlsPair) => void): Promise<void> {
    const { store, domains } = this.options;
    const text = await store.certificate();
    const kept = text === undefined ? undefined : splitPem(text);
    if (!kept || kept.key.trim() === this.current.key.trim()) return;
    const { covers } = inspectPair(kept);
    if (!domains.every(covers)) return;
    this.current = kept;
    this.isPlaceholder = false;
    onChange(kept);
  }
}

/** The chain and the key of one file. */
function splitPem(text: string): TlsPair | undefined {
  const at = text.search(/-----BEGIN (?:EC |RSA )?PRIVATE KEY-----/);
  return at < 0 ? undefined : { cert: text.slice(0, at), key: text.slice(at) };
}
