/** The certificate that the cloud issues for this machine: kept, and requested again each hour. */
import { X509Certificate } from "node:crypto";
import { type Client, Code, ConnectError } from "@connectrpc/connect";
import { writeFileAtomic } from "../../../shared/base/files/atomic_write.ts";
import { readIfExists } from "../../../shared/base/files/read_file.ts";
import type { RobotService } from "../../../shared/gen/viam/app/v1/robot_pb.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import { reasonOf } from "../../resources/graph/errors.ts";
import type { IssuedCertificate } from "../../serving/web/listen_settings.ts";
import { pollLoop } from "../../../shared/workers/poll_loop.ts";

export interface CertificateRefresherOptions {
  readonly client: Pick<Client<typeof RobotService>, "certificate">;
  readonly partId: string;
  /** Where it is kept, readable by its owner only: the machine starts without the cloud, too. */
  readonly path: string;
  readonly clock: Clock;
  readonly log: Logger;
}

/** As the family's servers do; the cloud renews a certificate a month before its end. */
const EVERY_MS = 3_600_000;
/** After a failure. */
const RETRY_MS = 60_000;
const TIMEOUT_MS = 15_000;

export class CertificateRefresher {
  #current: IssuedCertificate | undefined;
  #failed = false;
  /** The cloud was not queried yet. */
  #isDue = false;

  constructor(private readonly options: CertificateRefresherOptions) {}

  /**
   * The certificate to start with: the kept one while it is valid, and the cloud is queried first
   * thing by {@link run}; else the cloud's, or the kept one when it does not answer in time.
   */
  async first(timeoutMs = TIMEOUT_MS): Promise<IssuedCertificate | undefined> {
    this.#current = await this.#kept();
    this.#isDue = this.#current !== undefined && isValid(this.#current, this.options.clock.now());
    if (!this.#isDue) await this.#ask(timeoutMs);
    return this.#current;
  }

  /** Asks until the signal aborts. @param changed is called with another certificate. */
  async run(
    signal: AbortSignal,
    changed: (issued: IssuedCertificate) => Promise<void>,
  ): Promise<void> {
    const { clock } = this.options;
    const waitMs = () => this.#failed ? RETRY_MS : EVERY_MS;
    const turn = async () => {
      this.#isDue = false;
      const before = this.#current?.cert;
      await this.#ask(TIMEOUT_MS, signal);
      if (this.#current && this.#current.cert !== before) await changed(this.#current);
      return waitMs();
    };
    const firstMs = this.#isDue ? 0 : waitMs();
    await pollLoop(turn, { clock, intervalMs: EVERY_MS, firstMs }, signal);
  }

  async #ask(timeoutMs: number, signal?: AbortSignal): Promise<void> {
    const { client, partId, path, log } = this.options;
    try {
      const { tlsCertificate: cert, tlsPrivateKey: key } = await client.certificate(
        { id: partId },
        { timeoutMs, ...(signal && { signal }) },
      );
      this.#failed = false;
      if (cert === "" || key === "" || cert === this.#current?.cert) return;
      this.#current = { cert, key };
      await writeFileAtomic(path, JSON.stringify({ part: partId, cert, key }), { mode: 0o600 });
    } catch (error) {
      if (signal?.aborted) return;
      const wasFailed = this.#failed;
      this.#failed = true;
      if (wasFailed) return;
      const issuesNone = error instanceof ConnectError &&
        (error.code === Code.FailedPrecondition || error.code === Code.Unimplemented);
      const message = `the cloud gives no certificate for this machine: ${reasonOf(error)}`;
      if (issuesNone) log.info(message);
      else log.warn(message);
    }
  }

  /**
   * Undefined, too, when it is another part's: the folder may have served that one before. Files of
   * versions before 0.2.0 name no part.
   */
  async #kept(): Promise<IssuedCertificate | undefined> {
    const { partId, path, log } = this.options;
    try {
      const { part, cert, key } = JSON.parse(await readIfExists(path) ?? "{}");
      const isOurs = (part ?? partId) === partId && typeof cert === "string" &&
        typeof key === "string";
      return isOurs ? { cert, key } : undefined;
    } catch (error) {
      log.warn(`the kept certificate cannot be read: ${reasonOf(error)}`);
      return undefined;
    }
  }
}

function isValid({ cert }: IssuedCertificate, now: Date): boolean {
  try {
    return new Date(new X509Certificate(cert).validTo) > now;
  } catch {
    return false;
  }
}
