/** Reading of sockets in turns, so that one that always has more leaves time for the others. */
import type { Socket } from "node:net";
import { setImmediate } from "node:timers";

/** Bytes that are taken of one connection until the others have had their turn. */
const BYTES_PER_TURN = 65_536;

/** Hands over what arrives until the socket is closed. Without a pause, Deno would go on reading a flood. */
export function readInTurns(socket: Socket, take: (bytes: Uint8Array) => void): void {
  let taken = 0;
  socket.on("data", (bytes: Uint8Array) => {
    take(bytes);
    taken += bytes.length;
    if (taken < BYTES_PER_TURN) return;
    taken = 0;
    socket.pause();
    setImmediate(() => socket.resume());
  });
}
