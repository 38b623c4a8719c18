import { ConnectError } from "@connectrpc/connect";

/** Runs a command; what a call refuses has no code in front, which only programs need. */
export async function withPlainFailures<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof ConnectError)) throw error;
    throw new Error(error.rawMessage, { cause: error });
  }
}
