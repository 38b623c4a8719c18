import type { FlagTable } from "../../../shared/base/flags/flags.ts";
import { releaseCommands as commands } from "../../../shared/commands/releases/release_flags.ts";
import { placed } from "../../local/connection/placed_commands.ts";

/** How large a file may be that is put into a folder. */
const limitFlag = {
  "package-limit": {
    type: "integer",
    default: 2048,
    min: 1,
    max: 1024 * 1024,
    placeholder: "MIB",
    doc: "Largest file that --data takes; with --cloud the cloud's own limit counts.",
  },
} as const satisfies FlagTable;

/** The commands about releases and agents, for the program's table. */
export const releaseCommands = placed({
  ...commands,
  "release add": {
    ...commands["release add"],
    flags: { ...commands["release add"].flags, ...limitFlag },
  },
});
