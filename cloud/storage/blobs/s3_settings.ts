import { Secret } from "../../../shared/base/redaction/secret.ts";
import { UsageError } from "../../../shared/base/flags/flags.ts";

/** Where objects are kept, and how one signs in there. */
export interface S3Settings {
  /** Begins every object's address; with a slash at its end. */
  readonly baseUrl: string;
  readonly bucket: string;
  /** Stands before every key: empty, or with a slash at its end. */
  readonly prefix: string;
  readonly region: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: Secret;
  /** Of credentials that last for a time only. */
  readonly sessionToken: Secret | undefined;
}

/** Rules of S3 for names of buckets. */
const BUCKET = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/;
const PREFIX = /^[A-Za-z0-9!_.*'()-]+(\/[A-Za-z0-9!_.*'()-]+)*$/;
const LONGEST_PREFIX = 512;

/**
 * What `--blob-store s3://BUCKET/PREFIX` and the variables that all tools for S3 know say.
 *
 * @throws {UsageError} for what is wrong or missing; secrets are not repeated.
 */
export function readS3Settings(
  text: string,
  env: (name: string) => string | undefined,
): S3Settings {
  const match = /^s3:\/\/([^/]+)(?:\/(.*))?$/.exec(text);
  const [, bucket = "", path = ""] = match ?? [];
  if (!match || !BUCKET.test(bucket)) {
    throw new UsageError(
      `--blob-store: ${JSON.stringify(text)} is no place in an object storage; write ` +
        "s3://BUCKET or s3://BUCKET/PREFIX",
    );
  }
  const prefix = path.replace(/\/$/, "");
  const isPlain = prefix.split("/").every((part) => part !== "." && part !== "..");
  if (prefix !== "" && (!PREFIX.test(prefix) || !isPlain || prefix.length > LONGEST_PREFIX)) {
    throw new UsageError(
      `--blob-store: ${JSON.stringify(prefix)} cannot begin the names of objects; take letters, ` +
        "digits, -, _, . and /",
    );
  }
  const given = (name: string) => env(name)?.trim() || undefined;
  const accessKeyId = given("AWS_ACCESS_KEY_ID");
  const secret = given("AWS_SECRET_ACCESS_KEY");
  if (accessKeyId === undefined || secret === undefined) {
    throw new UsageError(
      "--blob-store: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment; keys are " +
        "taken from nowhere else",
    );
  }
  const region = given("AWS_REGION") ?? given("AWS_DEFAULT_REGION") ?? "us-east-1";
  if (!/^[a-z0-9-]{1,40}$/.test(region)) {
    throw new UsageError(`AWS_REGION: ${JSON.stringify(region)} is no region`);
  }
  const token = given("AWS_SESSION_TOKEN");
  const endpoint = given("AWS_ENDPOINT_URL_S3") ?? given("AWS_ENDPOINT_URL");
  return {
    baseUrl: endpoint === undefined ? amazonUrl(bucket, region) : endpointUrl(endpoint, bucket),
    bucket,
    prefix: prefix === "" ? "" : `${prefix}/`,
    region,
    accessKeyId,
    secretAccessKey: new Secret(secret),
    sessionToken: token === undefined ? undefined : new Secret(token),
  };
}

/** The bucket is part of the host's name; one with dots fits no certificate then. */
function amazonUrl(bucket: string, region: string): string {
  const host = `s3.${region}.amazonaws.com${region.startsWith("cn-") ? ".cn" : ""}`;
  return bucket.includes(".") ? `https://${host}/${bucket}/` : `https://${bucket}.${host}/`;
}

function endpointUrl(endpoint: string, bucket: string): string {
  const url = URL.parse(endpoint);
  const isPlain = url !== null && /^https?:$/.test(url.protocol) && url.username === "" &&
    url.password === "" && url.search === "" && url.hash === "" && url.pathname === "/";
  if (!isPlain) {
    throw new UsageError(
      "AWS_ENDPOINT_URL_S3: this is no address of an object storage; write https://HOST:PORT",
    );
  }
  return `${url.origin}/${bucket}/`;
}
