import { AwsV4Signer } from "aws4fetch";
import { toError } from "../../../shared/base/errors/to_error.ts";
import { Backoff } from "../../../shared/base/time/backoff.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import { withDeadline } from "../../../shared/base/time/deadline.ts";
import { retry, RetryError } from "../../../shared/base/time/retry.ts";
import { WaitTimeoutError } from "../../../shared/base/time/wait_for.ts";
import { BlobStorageError } from "./blob_store.ts";
import { readRefusal, type Refusal } from "./s3_answers.ts";
import type { S3Settings } from "./s3_settings.ts";

/** One request. Keys are without the prefix of the settings. */
export interface S3Request {
  readonly method: "GET" | "HEAD" | "PUT" | "POST" | "DELETE";
  /** Empty: the bucket itself. */
  readonly key: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array<ArrayBuffer>;
  /** Hexadecimal, of the body: the storage refuses what arrives otherwise. */
  readonly sha256?: string;
}

/** An answer whose body has been read. */
export interface S3Answer {
  readonly headers: Headers;
  readonly body: Uint8Array<ArrayBuffer>;
}

/** The storage refused; another attempt would not help. */
export class S3RefusedError extends BlobStorageError {
  constructor(message: string, readonly refusal: Refusal) {
    super(message);
  }
}

/** Nothing came back, or it said that it may go better later. */
class TransientError extends Error {}

/** One attempt, with its body both ways: 8 MiB at 0.6 Mbit/s. */
const ATTEMPT_MS = 120_000;
const ATTEMPTS = 6;
const BACKOFF = { minMs: 200, maxMs: 5_000 };
const EMPTY_SHA256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
const TRANSIENT_CODES = ["SlowDown", "RequestTimeout", "InternalError", "ServiceUnavailable"];

/** Signed requests to one bucket; what fails for a moment is tried again, about 10 s long. */
export class S3Client {
  /** Signing keys of the day. */
  readonly #keys = new Map<string, ArrayBuffer>();

  /** @param report what the operator should know, each time it happens */
  constructor(
    private readonly settings: S3Settings,
    private readonly clock: Clock,
    private readonly report: (problem: string) => unknown = () => {},
  ) {}

  /** What messages call the place; no secret. */
  get place(): string {
    return `s3://${this.settings.bucket}/${this.settings.prefix}`;
  }

  /** A key as lists show it. */
  keyOf(key: string): string {
    return `${this.settings.prefix}${key}`;
  }

  /**
   * @throws {S3RefusedError} when the storage refuses, {BlobStorageError} when it is away or stays
   * overloaded.
   */
  async send(request: S3Request, { attempts = ATTEMPTS } = {}): Promise<S3Answer> {
    const { clock } = this;
    try {
      return await retry(() => this.#attempt(request), {
        clock,
        backoff: new Backoff(BACKOFF),
        maxAttempts: attempts,
        isRetriable: (error) => error instanceof TransientError,
      });
    } catch (error) {
      if (!(error instanceof RetryError)) throw error;
      const reason = toError(error.cause).message;
      const message = `the object storage ${this.place} does not answer as it should: ${reason} ` +
        `(${error.attempts} attempts)`;
      this.report(message);
      throw new BlobStorageError(message, { cause: error.cause });
    }
  }

  async #attempt(request: S3Request): Promise<S3Answer> {
    const signed = await this.#signed(request);
    const { status, headers, body } = await withDeadline(
      async (signal) => {
        const response = await fetch(signed, { signal });
        const { status, headers } = response;
        return { status, headers, body: new Uint8Array(await response.arrayBuffer()) };
      },
      { clock: this.clock, deadlineMs: ATTEMPT_MS, what: "a request" },
    ).catch((error) => {
      if (error instanceof TypeError || error instanceof WaitTimeoutError) {
        throw new TransientError(error.message, { cause: error });
      }
      throw error;
    });
    // An upload in parts may fail after the answer has begun with 200.
    const text = request.method === "POST" ? new TextDecoder().decode(body) : "";
    const failedLate = status === 200 && /^(<\?[^>]*>)?\s*<Error>/.test(text);
    if (status >= 200 && status < 300 && !failedLate) return { headers, body };
    const refusal = readRefusal(failedLate ? 500 : status, new TextDecoder().decode(body));
    throw this.#failure(request, refusal);
  }

  #failure({ method }: S3Request, refusal: Refusal): Error {
    const { status, code, message } = refusal;
    const reason = [code, message].filter((text) => text !== "").join(": ") || "no reason given";
    if (status >= 500 || status === 429 || status === 408 || TRANSIENT_CODES.includes(code)) {
      return new TransientError(`status ${status}, ${reason}`);
    }
    const refused = new S3RefusedError(
      `the object storage ${this.place} refuses ${method} with status ${status}, ${reason}` +
        advice(refusal),
      refusal,
    );
    if (status !== 416 && (status !== 404 || code === "NoSuchBucket")) this.report(refused.message);
    return refused;
  }

  /**
   * An address at which whoever has it gets an object, without signing in.
   *
   * @param seconds how long, a week at most; credentials that end earlier end it
   */
  async addressOf(key: string, seconds: number): Promise<string> {
    const query = { "X-Amz-Expires": String(seconds) };
    const { url } = await this.#sign({ method: "GET", key, query }, { signQuery: true });
    return url.href;
  }

  async #signed(request: S3Request): Promise<Request> {
    const { headers = {}, body, sha256 = EMPTY_SHA256 } = request;
    const { url: signedUrl, ...signed } = await this.#sign(request, {
      headers: { ...headers, "x-amz-content-sha256": sha256 },
      ...(body ? { body } : {}),
    });
    return new Request(signedUrl, {
      method: signed.method,
      headers: signed.headers,
      ...(body ? { body } : {}),
      redirect: "manual",
    });
  }

  #sign(
    { method, key, query = {} }: S3Request,
    how: {
      readonly signQuery?: boolean;
      readonly headers?: Record<string, string>;
      readonly body?: Uint8Array<ArrayBuffer>;
    },
  ) {
    const { baseUrl, prefix, region, accessKeyId, secretAccessKey, sessionToken } = this.settings;
    const url = new URL(key === "" ? baseUrl : `${baseUrl}${prefix}${key}`);
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
    const token = sessionToken?.reveal();
    return new AwsV4Signer({
      method,
      url: url.href,
      service: "s3",
      region,
      accessKeyId,
      secretAccessKey: secretAccessKey.reveal(),
      ...(token === undefined ? {} : { sessionToken: token }),
      ...how,
      cache: this.#keys,
      datetime: this.clock.now().toISOString().replaceAll(/[:-]|\.\d{3}/g, ""),
    }).sign();
  }
}

/** What the operator can do, by what storages say. */
function advice({ code, status }: Refusal): string {
  switch (code) {
    case "NoSuchBucket":
      return ". Make the bucket, or name another one with --blob-store";
    case "InvalidAccessKeyId":
    case "SignatureDoesNotMatch":
      return ". Check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY";
    case "ExpiredToken":
      return ". Get new credentials and start the cloud with them";
    case "RequestTimeTooSkewed":
      return ". Set the clock of this host";
    case "PermanentRedirect":
    case "AuthorizationHeaderMalformed":
      return ". Check AWS_REGION";
  }
  if (status === 403) return ". Allow the access key to get, put, list and delete objects there";
  return status >= 300 && status < 400 ? ". Check AWS_REGION and AWS_ENDPOINT_URL_S3" : "";
}
