import { Code, ConnectError, type Transport } from "@connectrpc/connect";

/** A transport that is closed in the end. */
export type ClosableTransport = Transport & { close(): void };

/** A transport that is made with the first call, by `make`. When that fails, the next call tries again. */
export function lazyTransport(make: () => Promise<ClosableTransport>): ClosableTransport {
  let making: Promise<ClosableTransport> | undefined;
  let isClosed = false;
  const made = async (): Promise<ClosableTransport> => {
    if (isClosed) throw new ConnectError("the connection is closed", Code.Canceled);
    const current = making ??= make();
    try {
      return await current;
    } catch (error) {
      if (making === current) making = undefined;
      throw error;
    }
  };
  return {
    unary: async (...call) => await (await made()).unary(...call),
    stream: async (...call) => await (await made()).stream(...call),
    close() {
      isClosed = true;
      making?.then((transport) => transport.close(), () => undefined);
    },
  };
}
