import { connect, createServer } from "node:net";

/** A program that is to listen. */
export interface Listening {
  readonly name: string;
  readonly hasExited: boolean;
  readonly exited: Promise<unknown>;
  tail(): string;
  endedError(): Error;
}

/** @throws Error in one line when something listens on the port already */
export async function assertPortFree(host: string, port: number, use: string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const server = createServer();
  server.once("error", (error: NodeJS.ErrnoException) => {
    reject(
      new Error(
        error.code === "EADDRINUSE"
          ? `Port ${port}, meant for ${use}, is in use. Stop what uses it (an earlier make run?), or choose another: make run PORT=9000`
          : `Port ${port}, meant for ${use}, cannot be used: ${error.message}`,
      ),
    );
  });
  server.listen({ host, port }, () => server.close(() => resolve()));
  await promise;
}

/**
 * Waits until `program` accepts connections on the port.
 * @throws its `endedError()` when it ends first, Error after three minutes
 */
export async function waitForPort(host: string, port: number, program: Listening): Promise<void> {
  const deadline = Date.now() + 180_000;
  while (Date.now() < deadline) {
    if (program.hasExited) throw program.endedError();
    if (await accepts(host, port)) return;
    await Promise.race([new Promise((done) => setTimeout(done, 50)), program.exited]);
  }
  throw new Error(
    `${program.name} did not listen on ${host}:${port} in time. Its last lines:\n${program.tail()}`,
  );
}

function accepts(host: string, port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = connect({ host, port });
  socket.once("connect", () => resolve(true));
  socket.once("error", () => resolve(false));
  return promise.finally(() => socket.destroy());
}
