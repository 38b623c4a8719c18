/** The right way to ask whose a connection is, by operating system. */
import type { PeerProcesses } from "./peer_process.ts";
import { LinuxPeerProcesses } from "./peer_process_linux.ts";
import { WindowsPeerProcesses } from "./peer_process_windows.ts";

/** That of this host; undefined on systems where nothing shows whose a connection is. */
export async function systemPeerProcesses(): Promise<PeerProcesses | undefined> {
  switch (Deno.build.os) {
    case "linux":
      return new LinuxPeerProcesses();
    case "windows": {
      const { windowsCalls } = await import("./windows_calls.ts");
      return new WindowsPeerProcesses(windowsCalls());
    }
    default:
      return undefined;
  }
}
