import { join } from "node:path";
import type { Clock } from "../../shared/base/time/clock.ts";
import { closeWindow, openWindow } from "../server/maintenance/opened_window.ts";
import type { OwnerCommand } from "../options/owner_commands.ts";
import { allowVersion } from "../updates/keys/lowest_versions.ts";

/**
 * Does what the owner of this host asks, by a file that only they may write and that the agent
 * reads, whether it runs now or later.
 *
 * @returns what is so now.
 * @throws {FileError | Error} one line for the operator.
 */
export async function runOwnerCommand(command: OwnerCommand, clock: Clock): Promise<string> {
  const { dir } = command;
  const isThere = await Deno.stat(join(dir, "etc")).then(() => true, () => false);
  if (!isThere) throw new Error(`there is no machine-agent in ${dir}; name its folder with --dir`);
  switch (command.kind) {
    case "open-window": {
      const until = await openWindow(dir, command.minutes, clock.now());
      return `restarts and updates are let through until ${until.toISOString()}\n`;
    }
    case "close-window":
      await closeWindow(dir);
      return "the maintenance sensor decides\n";
    case "allow-version": {
      const { program, version } = command;
      await allowVersion(dir, program, version);
      return `${program} ${version} and newer may be installed, as far as they are signed\n`;
    }
  }
}
