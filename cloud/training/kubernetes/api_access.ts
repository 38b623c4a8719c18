import { toFileError } from "../../../shared/base/files/fs_error.ts";
import type { ClusterQuestion } from "../remote/ask_cluster.ts";
import { ClusterAwayError } from "../remote/cluster.ts";

/** How an API server is reached. Files are read again with each call: they rotate. */
export interface ApiAccessOptions {
  /** `https://HOST:PORT` */
  readonly server: string;
  /** Certificates that it is trusted by; left out: those of this system. */
  readonly caFile?: string | undefined;
  readonly tokenFile?: string | undefined;
  /** Certificate of this client, with its key. */
  readonly certFile?: string | undefined;
  readonly keyFile?: string | undefined;
}

type Question = ClusterQuestion & {
  readonly client: Deno.HttpClient;
  readonly headers: Record<string, string>;
};

const TOKEN = /^[\x21-\x7e]+$/;

/** A credential that was replaced a moment ago is asked with again, as is a server that is busy. */
function isAway(status: number): boolean {
  return status === 401 || status === 408 || status === 429 || status >= 500;
}

/** Sends requests to an API server, with the credentials that are in the files now. */
export class ApiAccess {
  #client: { readonly of: string; readonly http: Deno.HttpClient } | undefined;

  constructor(private readonly options: ApiAccessOptions) {}

  get server(): string {
    return this.options.server.replace(/\/$/, "");
  }

  /** @throws {ClusterAwayError} as `work` does, and when a file cannot be read */
  async use<T>(work: (server: string, question: Question) => Promise<T>): Promise<T> {
    const { tokenFile, caFile, certFile, keyFile } = this.options;
    const [token, ca, cert, key] = await Promise.all([
      ...[tokenFile, caFile, certFile, keyFile].map(readText),
    ]);
    const client = this.#clientFor(ca, cert, key);
    try {
      return await work(this.server, {
        who: `the API server of Kubernetes at ${this.server}`,
        isAway,
        client,
        headers: token === undefined ? {} : { authorization: `Bearer ${tokenOf(token)}` },
      });
    } catch (error) {
      // A connection that is dead and does not know it is not used again.
      if (error instanceof ClusterAwayError && this.#client?.http === client) this.#forget();
      throw error;
    }
  }

  /** What it has under way continues. */
  #forget(): void {
    this.#client?.http.close();
    this.#client = undefined;
  }

  #clientFor(
    ca: string | undefined,
    cert: string | undefined,
    key: string | undefined,
  ): Deno.HttpClient {
    const of = JSON.stringify([ca, cert, key]);
    if (this.#client?.of !== of) {
      this.#forget();
      try {
        const http = Deno.createHttpClient({
          ...(ca === undefined ? {} : { caCerts: [ca] }),
          ...(cert === undefined || key === undefined ? {} : { cert, key }),
        });
        this.#client = { of, http };
      } catch (error) {
        throw new ClusterAwayError(
          `the certificates for the API server cannot be used: ${(error as Error).message}`,
        );
      }
    }
    return this.#client.http;
  }
}

/** The error of a header that cannot be sent would say all of it, in the log of a job. */
function tokenOf(text: string): string {
  const token = text.trim();
  if (TOKEN.test(token)) return token;
  throw new ClusterAwayError("the file with the token for Kubernetes has no token, or more in it");
}

async function readText(path: string | undefined): Promise<string | undefined> {
  if (path === undefined) return undefined;
  try {
    return await Deno.readTextFile(path);
  } catch (error) {
    const { message } = toFileError(error, "read the credentials for Kubernetes in", path);
    throw new ClusterAwayError(message);
  }
}
