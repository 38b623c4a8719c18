import { Code, ConnectError } from "@connectrpc/connect";
import { buildInfo } from "../../../shared/base/build_info/build_info.ts";
import { UsageError } from "../../../shared/base/flags/flags.ts";
import { Secret } from "../../../shared/base/redaction/secret.ts";
import { CloudConnection } from "../../../shared/cloud/client/connection.ts";
import type { OpenCloud } from "../../../shared/commands/run/run_command.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import { parsePublicUrl } from "../../api/addresses/addresses.ts";
import type { PlaceValues } from "./place_flags.ts";

/** A cloud over the network, by an API key. @throws {UsageError} without one */
export function openRemoteCloud(address: string, values: PlaceValues, log: Logger): OpenCloud {
  const { "key-id": keyId, key } = values;
  if (!keyId || !key) {
    throw new UsageError(
      "--cloud needs an API key: --key-id and --key, or the environment variables " +
        "MACHINE_CLOUD_API_KEY_ID and MACHINE_CLOUD_API_KEY",
    );
  }
  const url = parsePublicUrl(address, "--cloud");
  const connection = CloudConnection.open({
    appAddress: url,
    credentials: { type: "api-key", entity: keyId, payload: new Secret(key) },
    allowInsecure: values["allow-insecure-creds"],
    userAgent: `machine-cloud/${buildInfo.version}`,
    log,
  });
  return {
    transport: connection.transport,
    name: url,
    async download(path, query) {
      const asked = new URL(path, url.endsWith("/") ? url : `${url}/`);
      for (const [name, value] of Object.entries(query)) asked.searchParams.set(name, value);
      return await fetch(asked, { headers: { key_id: keyId, key } });
    },
    atMachine() {
      throw new UsageError("machine-cloud does not talk with machines; the program machine does");
    },
    advice: (error) => withAdvice(error, url),
    [Symbol.asyncDispose]: () => Promise.resolve(connection.close()),
  };
}

/** What a call to the cloud refuses, with what the user can do where it is the connection. */
function withAdvice(error: unknown, url: string): unknown {
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
