import { Code, ConnectError } from "@connectrpc/connect";
import { Secret } from "../../../shared/base/redaction/secret.ts";
import { CloudConnection } from "../../../shared/cloud/client/connection.ts";
import { UsageError } from "../../../shared/base/flags/flags.ts";
import { getLogger } from "../../../shared/log/loggers.ts";
import { parsePublicUrl } from "../../api/addresses/addresses.ts";
import type { Place } from "./place_flags.ts";

/** A connection that signs in with the API key of the place. @throws {UsageError} without one */
export function connectToCloud(place: Place, url: string): CloudConnection {
  const { keyId, key } = place;
  if (!keyId || !key) {
    throw new UsageError(
      "--cloud needs an API key: --key-id and --key, or the environment variables " +
        "MACHINE_CLOUD_API_KEY_ID and MACHINE_CLOUD_API_KEY",
    );
  }
  return CloudConnection.open({
    appAddress: parsePublicUrl(url, "--cloud"),
    credentials: { type: "api-key", entity: keyId, payload: new Secret(key) },
    allowInsecure: place.allowInsecure,
    log: getLogger("machine-cloud"),
  });
}

/** What a call to the cloud refuses, with what the user can do where it is the connection. */
export function withAdvice(error: unknown, url: string): unknown {
  if (!(error instanceof ConnectError)) return error;
  switch (error.code) {
    case Code.Unauthenticated:
      return new Error(`the cloud does not take the API key: ${error.rawMessage}`, {
        cause: error,
      });
    case Code.Unavailable:
      return new Error(`cannot reach a cloud at ${url}: ${error.rawMessage}`, { cause: error });
    default:
      return error;
  }
}
