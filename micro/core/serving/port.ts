import type { Host } from "../host/host.ts";
import type { LogQueue } from "../log/log_queue.ts";
import { textOf } from "../rpc/errors.ts";
import { Server } from "./server.ts";
import type { Services } from "./services.ts";

/** A certificate with its key, PEM texts; the certificate of the port first. */
export interface Certificate {
  readonly certificate: string;
  readonly privateKey: string;
}

export interface PortOptions {
  readonly host: Host;
  readonly services: Services;
  /** 0: any free one. */
  readonly port: number;
  /** Answer to `GET /`. */
  readonly title: string;
  /** It opens with a certificate only. */
  readonly wantsTls: boolean;
  readonly log: LogQueue;
}

/** The port of the local network, with TLS or without, as certificate and configuration have it. */
export class Port {
  #server: Server | undefined;
  /** What the server has; undefined: nothing was opened yet. */
  #now: string | undefined;
  #taken = 0;
  #certificate: Certificate | undefined;
  #noTls = false;
  #started = false;

  constructor(private readonly options: PortOptions) {}

  /** The port that is open; 0: none is. */
  get port(): number {
    return this.#server?.port ?? 0;
  }

  /** Opens it, as far as what it needs is there. */
  start(): void {
    this.#started = true;
    this.#update();
  }

  /** The certificate from now on; who is connected has to connect again. */
  use(certificate: Certificate): void {
    this.#certificate = certificate;
    this.#update();
  }

  /** Whether the configuration wants it without TLS. */
  configure({ noTls }: { readonly noTls: boolean }): void {
    this.#noTls = noTls;
    this.#update();
  }

  close(): void {
    this.#started = false;
    this.#server?.close();
    this.#server = undefined;
  }

  #update(): void {
    if (!this.#started) return;
    const { wantsTls, log } = this.options;
    const isTls = wantsTls && !this.#noTls;
    const tls = isTls ? this.#certificate : undefined;
    const wanted = isTls ? tls?.certificate ?? "none" : "";
    if (wanted === this.#now) return;
    this.#now = wanted;
    this.#server?.close();
    this.#server = undefined;
    if (isTls && !tls) {
      return log.write("info", "serving", "the port opens when the cloud has issued a certificate");
    }
    this.#open(tls);
  }

  #open(tls: Certificate | undefined): void {
    const { host, services, title, log } = this.options;
    const port = this.#taken || this.options.port;
    try {
      this.#server = new Server({ host, services, port, title, ...(tls && { tls }) });
      this.#taken = this.#server.port;
      log.write("info", "serving", `port ${this.#taken}${tls ? " with TLS" : ""}`);
    } catch (error) {
      this.#now = undefined;
      log.write("error", "serving", `nobody can call: port ${port}: ${textOf(error)}`);
    }
  }
}
