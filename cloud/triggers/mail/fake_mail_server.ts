import type { AddressInfo } from "node:net";
import { SMTPServer, type SMTPServerOptions } from "smtp-server";
import { waitFor } from "../../../shared/base/time/wait_for.ts";

/** A mail as it came in. */
export interface ReceivedMail {
  readonly from: string;
  readonly to: readonly string[];
  readonly user: string | undefined;
  readonly isSecure: boolean;
  /** Headers and all parts, with the transfer encoding undone. */
  readonly text: string;
}

/** A real mail server that keeps what it was sent. For tests. */
export class FakeMailServer implements AsyncDisposable {
  readonly mails: ReceivedMail[] = [];
  readonly #server: SMTPServer;

  private constructor(options: SMTPServerOptions) {
    this.#server = new SMTPServer({
      disabledCommands: ["STARTTLS"],
      authOptional: true,
      logger: false,
      ...options,
      onData: (stream, session, callback) => {
        const chunks: Uint8Array[] = [];
        stream.on("data", (chunk: Uint8Array) => chunks.push(chunk));
        stream.on("end", () => {
          const { mailFrom, rcptTo } = session.envelope;
          this.mails.push({
            from: mailFrom ? mailFrom.address : "",
            to: rcptTo.map(({ address }) => address),
            user: session.user,
            isSecure: session.secure,
            text: decoded(chunks),
          });
          callback();
        });
      },
    });
    // A client that goes away is nothing to the server.
    this.#server.on("error", () => {});
  }

  /** Without TLS unless the options specify otherwise. */
  static async start(options: SMTPServerOptions = {}): Promise<FakeMailServer> {
    const server = new FakeMailServer(options);
    await new Promise<void>((resolve) => server.#server.listen(0, "127.0.0.1", resolve));
    return server;
  }

  get port(): number {
    return (this.#server.server.address() as AddressInfo).port;
  }

  get url(): string {
    return `smtp://127.0.0.1:${this.port}`;
  }

  /** The mails, when there are so many. */
  async received(count: number): Promise<readonly ReceivedMail[]> {
    const what = `${count} mails at the server`;
    await waitFor(() => this.mails.length >= count, { deadlineMs: 60_000, what });
    return this.mails;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }
}

function decoded(chunks: readonly Uint8Array[]): string {
  const raw = new TextDecoder("latin1").decode(concatenated(chunks));
  const plain = raw.replace(/(?<!\?)=\r\n/g, "")
    .replace(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(parseInt(hex, 16)));
  return new TextDecoder().decode(Uint8Array.from(plain, (char) => char.charCodeAt(0)));
}

function concatenated(chunks: readonly Uint8Array[]): Uint8Array {
  const all = new Uint8Array(chunks.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const chunk of chunks) {
    all.set(chunk, at);
    at += chunk.length;
  }
  return all;
}
