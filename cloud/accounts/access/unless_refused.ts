import { Code, ConnectError } from "@connectrpc/connect";

/**
 * Undefined where somebody is refused. Whether they are is not known while the database is away:
 * that, and what is a fault of the cloud, is thrown.
 */
export async function unlessRefused<T>(found: Promise<T>): Promise<T | undefined> {
  try {
    return await found;
  } catch (error) {
    if (error instanceof ConnectError && error.code !== Code.Unavailable) return undefined;
    throw error;
  }
}
