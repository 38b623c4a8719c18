/** A serial line in memory: a pseudo terminal. */
import { openLinuxPty } from "../shell/linux_pty.ts";
import type { ByteLink } from "./byte_link.ts";

/** @returns the port for a driver, and the end of the device. */
export function ptyPair(): { path: string; device: ByteLink } {
  const pty = openLinuxPty({ columns: 80, rows: 24 });
  // A terminal that nobody has open reads as hung up: keep one end open, as a cable would be.
  const kept = Deno.openSync(pty.path, { read: true, write: true });
  return {
    path: pty.path,
    device: {
      read: () => pty.read(),
      write: (bytes) => pty.write(bytes),
      async close() {
        kept.close();
        await pty.close();
      },
    },
  };
}
