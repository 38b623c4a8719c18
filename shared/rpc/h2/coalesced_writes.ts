/** Puts the small writes of node:http2's server together: it makes three for each answer. */
import { setImmediate } from "node:timers";

/** What is needed of a `net.Socket`. */
export interface CorkableSocket {
  write(...args: unknown[]): boolean;
  cork(): void;
  uncork(): void;
}

/** Writes that go out at once without waiting for the turn's end: so the reader begins early. */
const MOST_WRITES = 48;

/**
 * Makes the writes of one turn of the event loop one system call, of {@link MOST_WRITES} at most.
 * Changes the socket and gives it back. Ending the socket writes what waits.
 */
export function coalesceWrites<S extends CorkableSocket>(socket: S): S {
  const write = socket.write;
  let waiting = 0;
  const release = () => {
    if (waiting === 0) return;
    waiting = 0;
    socket.uncork();
  };
  const later: CorkableSocket["write"] = (...args) => {
    if (waiting === 0) {
      socket.cork();
      setImmediate(release);
    }
    waiting++;
    const room = write.apply(socket, args);
    if (waiting >= MOST_WRITES) release();
    return room;
  };
  socket.write = later;
  return socket;
}
