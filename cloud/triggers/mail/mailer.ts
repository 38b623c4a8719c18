import { isLoopbackHost } from "../../../shared/base/net/loopback.ts";
import type { Transporter } from "nodemailer";
import { toError } from "../../../shared/base/errors/to_error.ts";

/** One mail. */
export interface Mail {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  readonly html: string;
  /** The same whenever the same mail is sent again, so that a repeat can be determined. */
  readonly id: string;
}

export interface MailSettings {
  /** `smtp://` or `smtps://`, with user and password where the server wants them. */
  readonly smtpUrl: string;
  /** Sender, as an address or `Name <address>`; requested with each mail. */
  readonly from: () => string;
}

/** A mail that was not taken. */
export class MailError extends Error {
  override readonly name = "MailError";

  constructor(
    message: string,
    /** Whether the server may take it another time. */
    readonly isRetryable: boolean,
    /** Of SMTP; undefined: the server did not answer. */
    readonly statusCode: number | undefined,
    /** Whether it says nothing of mail to others. */
    readonly isOfOneRecipient: boolean,
    cause: unknown,
  ) {
    super(message, { cause });
  }
}

/** For connecting, for the greeting, and for each answer of the server. */
const TIMEOUT_MS = 15_000;
const CONNECTIONS = 4;

/** Sends mail over one mail server. Its library is loaded with the first mail. */
export class Mailer {
  #transporter: Promise<Transporter> | undefined;

  constructor(private readonly settings: MailSettings) {}

  /** Gives back what the server answered. @throws {MailError} */
  async send(mail: Mail): Promise<string> {
    try {
      this.#transporter ??= this.#open();
      const { id, ...content } = mail;
      const from = this.settings.from();
      const host = from.split("@").at(-1)?.replace(/[^A-Za-z0-9.-]/g, "");
      const { response } = await (await this.#transporter).sendMail({
        ...content,
        from,
        messageId: `<${id}@${host || "localhost"}>`,
        headers: { "Auto-Submitted": "auto-generated" },
        disableFileAccess: true,
        disableUrlAccess: true,
      });
      return String(response);
    } catch (error) {
      throw toMailError(error);
    }
  }

  async close(): Promise<void> {
    const transporter = await this.#transporter?.catch(() => undefined);
    transporter?.close();
  }

  async #open(): Promise<Transporter> {
    const { createTransport } = await import("nodemailer");
    return createTransport(transportOptions(this.settings.smtpUrl));
  }
}

/** The sender where the operator names none. */
export function defaultSender(publicUrl: string): string {
  const host = URL.parse(publicUrl)?.hostname ?? "";
  return `machine-cloud@${/^[a-z][a-z0-9.-]*$/i.test(host) ? host : "localhost"}`;
}

/** Parts of an SMTP URL. Passwords leave this host only over TLS. */
function transportOptions(smtpUrl: string) {
  const url = new URL(smtpUrl);
  const secure = url.protocol === "smtps:";
  const user = decodeURIComponent(url.username);
  const host = url.hostname.replace(/^\[|\]$/g, "");
  return {
    pool: true,
    maxConnections: CONNECTIONS,
    maxRequeues: 1,
    host,
    port: url.port === "" ? secure ? 465 : 587 : Number(url.port),
    secure,
    requireTLS: user !== "" && !isLoopbackHost(host),
    ...(user === "" ? {} : { auth: { user, pass: decodeURIComponent(url.password) } }),
    connectionTimeout: TIMEOUT_MS,
    greetingTimeout: TIMEOUT_MS,
    socketTimeout: TIMEOUT_MS,
  } as const;
}

function toMailError(error: unknown): MailError {
  const reason = toError(error);
  const { responseCode, code } = reason as Error & { responseCode?: unknown; code?: unknown };
  const statusCode = typeof responseCode === "number" ? responseCode : undefined;
  // A wrong password is put right by the operator, and then the mail goes.
  const isRetryable = statusCode === undefined || statusCode < 500 || code === "EAUTH";
  const isOfOneRecipient = code === "EENVELOPE" && statusCode !== undefined;
  return new MailError(reason.message, isRetryable, statusCode, isOfOneRecipient, error);
}
