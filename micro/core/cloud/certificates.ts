import { fromUtf8, utf8 } from "../bytes/utf8.ts";
import type { Host } from "../host/host.ts";
import { Backoff, Waiter } from "../host/waiting.ts";
import type { LogQueue } from "../log/log_queue.ts";
import { RpcError, textOf } from "../rpc/errors.ts";
import type { Certificate } from "../serving/port.ts";
import type { CloudClient } from "./cloud_client.ts";

const FLASH_KEY = "certificate";
/** The cloud gives another one a month before the end of the one before. Milliseconds. */
const EVERY_MS = 60 * 60_000;
/** After a failure, at most. Milliseconds. */
const RETRY_MS = 60_000;

export interface CertificatesOptions {
  readonly host: Host;
  readonly client: Pick<CloudClient, "call" | "credentials">;
  readonly log: LogQueue;
  /** Gets the kept certificate at the start, and each other one. Must not throw. */
  readonly use: (certificate: Certificate) => void;
}

/** The certificate that the cloud issues for the device's names: kept in flash, and renewed. */
export class Certificates {
  #current: Certificate | undefined;
  #closed = false;
  #problem = "";
  readonly #waiter: Waiter;

  constructor(private readonly options: CertificatesOptions) {
    this.#waiter = new Waiter(options.host);
  }

  start(): void {
    this.#current = this.#kept();
    if (this.#current) this.options.use(this.#current);
    void this.#loop();
  }

  close(): void {
    this.#closed = true;
    this.#waiter.wake();
  }

  async #loop(): Promise<void> {
    const backoff = new Backoff(this.options.host, 1_000, RETRY_MS);
    while (!this.#closed) {
      const succeeded = await this.#ask();
      if (this.#closed) return;
      if (succeeded) backoff.reset();
      await this.#waiter.wait(succeeded ? EVERY_MS : backoff.next());
    }
  }

  /** @returns whether the cloud gave one */
  async #ask(): Promise<boolean> {
    const { client, host, use } = this.options;
    try {
      const { tlsCertificate: certificate, tlsPrivateKey: privateKey } = await client.call(
        "/viam.app.v1.RobotService/Certificate",
        { id: client.credentials.partId },
      );
      if (certificate === "" || privateKey === "") {
        throw new RpcError("failed_precondition", "it issues none");
      }
      this.#problem = "";
      if (certificate === this.#current?.certificate) return true;
      this.#current = { certificate, privateKey };
      host.flash.write(FLASH_KEY, utf8(JSON.stringify(this.#current)));
      use(this.#current);
      return true;
    } catch (error) {
      this.#failed(error);
      return false;
    }
  }

  #failed(error: unknown): void {
    const problem = textOf(error);
    if (this.#closed || problem === this.#problem) return;
    this.#problem = problem;
    const { log } = this.options;
    // As at each start, until there is a network: nothing is wrong with the certificate.
    const isAway = error instanceof RpcError && error.code === "unavailable";
    const text = `there is no new certificate for the port: ${problem}`;
    log.write(isAway ? "debug" : "warn", "serving", text);
  }

  #kept(): Certificate | undefined {
    try {
      const kept = this.options.host.flash.read(FLASH_KEY);
      const { certificate, privateKey } = JSON.parse(kept ? fromUtf8(kept) : "{}") as Record<
        string,
        unknown
      >;
      return typeof certificate === "string" && typeof privateKey === "string"
        ? { certificate, privateKey }
        : undefined;
    } catch {
      // The cloud gives it again.
      return undefined;
    }
  }
}
