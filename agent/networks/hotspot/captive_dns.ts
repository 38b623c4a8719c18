import { removeIfExists, writeFileAtomic } from "../../../shared/base/files/atomic_write.ts";
import { join } from "node:path";

const FILE = "80-machine-agent.conf";

/** Which names lead to the machine for those on its hotspot. */
export function redirectRules(address: string, onlySetup: boolean): string {
  return `# Written by machine-agent while its hotspot is up.\naddress=/${
    onlySetup ? ".setup" : "#"
  }/${address}\n`;
}

/** Whether names lead to the machine; for the next start of a hotspot. */
export interface CaptiveDns {
  /** @throws {FileError} */
  write(address: string, onlySetup: boolean): Promise<void>;
  /** Hotspots and shared connections of other people are to know nothing of it. */
  remove(): Promise<void>;
}

/** @param folder what NetworkManager's shared mode starts its dnsmasq with. */
export function captiveDnsIn(folder: string): CaptiveDns {
  const file = join(folder, FILE);
  return {
    write: async (address, onlySetup) => {
      await Deno.mkdir(folder, { recursive: true });
      await writeFileAtomic(file, redirectRules(address, onlySetup), { mode: 0o644 });
    },
    remove: async () => void await removeIfExists(file),
  };
}
