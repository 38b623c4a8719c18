import { UsageError } from "../../shared/base/flags/flags.ts";
import { isLoopback } from "../api/addresses/addresses.ts";
import { readSecretFile } from "./secret_file.ts";
import type { ServeFlags } from "./serve_flags.ts";
import type { RaySettings } from "./training_settings.ts";

/**
 * The Ray cluster that the command line names; undefined: scripts run elsewhere.
 *
 * @throws {UsageError} for what does not go together; {FileError} for a token that cannot be read
 */
export async function rayOf(flags: ServeFlags): Promise<RaySettings | undefined> {
  if (flags["training-runner"] !== "ray") {
    if (flags["ray-token-file"] === undefined) return undefined;
    throw new UsageError("--ray-token-file needs --training-runner ray");
  }
  const address = flags["ray-address"];
  const url = URL.parse(address);
  if (!url || !/^https?:$/.test(url.protocol) || url.username || url.search || url.hash) {
    throw new UsageError(
      `--ray-address: ${JSON.stringify(address)} is no address of a dashboard; write it as ` +
        "http://HOST:8265",
    );
  }
  const file = flags["ray-token-file"];
  if (file && url.protocol === "http:" && !isLoopback({ hostname: url.hostname, port: 0 })) {
    throw new UsageError(
      "--ray-address: a token is sent by https:// only, or by http:// on this host",
    );
  }
  return {
    address: url.href,
    token: file === undefined ? undefined : await readSecretFile("--ray-token-file", file),
    cpus: flags["ray-cpus"],
    gpus: flags["ray-gpus"],
  };
}
