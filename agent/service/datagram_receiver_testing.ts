/** A unix datagram socket as systemd listens on, for tests of the sender. Linux only. */
import { socketAddress } from "./notify_socket.ts";

const SYMBOLS = {
  socket: { parameters: ["i32", "i32", "i32"], result: "i32" },
  bind: { parameters: ["i32", "buffer", "u32"], result: "i32" },
  recv: { parameters: ["i32", "buffer", "usize", "i32"], result: "isize" },
  close: { parameters: ["i32"], result: "i32" },
} as const;

const AF_UNIX = 1;
const SOCK_DGRAM = 2;
const MSG_DONTWAIT = 0x40;

export class DatagramReceiver implements Disposable {
  readonly #library = Deno.dlopen("libc.so.6", SYMBOLS);
  readonly #socket: number;
  readonly #received: string[] = [];

  /** @throws Error when the address is taken. */
  constructor(readonly address: string) {
    const { symbols } = this.#library;
    const target = socketAddress(address);
    this.#socket = symbols.socket(AF_UNIX, SOCK_DGRAM, 0);
    if (symbols.bind(this.#socket, target, target.length) !== 0) {
      throw new Error(`cannot listen at ${address}`);
    }
  }

  /** All datagrams so far. */
  received(): readonly string[] {
    const buffer = new Uint8Array(4096);
    while (true) {
      const length = Number(
        this.#library.symbols.recv(this.#socket, buffer, BigInt(buffer.length), MSG_DONTWAIT),
      );
      if (length < 0) return this.#received;
      this.#received.push(new TextDecoder().decode(buffer.subarray(0, length)));
    }
  }

  [Symbol.dispose](): void {
    this.#library.symbols.close(this.#socket);
    this.#library.close();
  }
}
