import { type Agent, get } from "node:https";
import { buildInfo } from "../../../shared/base/build_info/build_info.ts";

const PATIENCE_MS = 20_000;

/** The ACME server gives no answer. */
export class DirectoryError extends Error {
  override readonly name = "DirectoryError";
}

/**
 * Reads the directory of an ACME server once. The library asks for more than a minute before it
 * fails, and then does not say why.
 *
 * @throws {DirectoryError} with the reason
 */
export async function requireDirectory(url: string, agent: Agent | undefined): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  // RFC 8555 wants a name of the client.
  const headers = { "user-agent": `machine-cloud/${buildInfo.version}` };
  const request = get(url, { agent, headers, timeout: PATIENCE_MS }, (response) => {
    response.resume();
    if (response.statusCode === 200) resolve();
    else reject(new Error(`it answers with HTTP status ${response.statusCode}`));
  });
  request.on("timeout", () => request.destroy(new Error("it gives no answer")));
  request.on("error", reject);
  try {
    await promise;
  } catch (error) {
    const { message, code = "" } = error as Error & { code?: string };
    throw new DirectoryError(
      `the ACME server at ${url} cannot be reached: ${message || code}`,
      { cause: error },
    );
  } finally {
    request.destroy();
  }
}
