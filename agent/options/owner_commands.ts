/** Commands by which the owner of this host decides what the agent must not decide itself. */
import { valid } from "semver";
import {
  type FlagSpec,
  parseFlags,
  type ReadEnv,
  renderHelp,
  UsageError,
} from "../../shared/base/flags/flags.ts";
import { LONGEST_WINDOW_MINUTES } from "../server/maintenance/opened_window.ts";
import type { ProgramName } from "../updates/updater/slot.ts";
import { absolute, DIR, PROGRAM } from "./shared_flags.ts";

export type OwnerCommand =
  | { readonly kind: "open-window"; readonly dir: string; readonly minutes: number }
  | { readonly kind: "close-window"; readonly dir: string }
  | {
    readonly kind: "allow-version";
    readonly dir: string;
    readonly program: ProgramName;
    readonly version: string;
  };

/** The options of the owner's commands by the word that names them. */
function ownerFlags(os: string) {
  const dir = DIR(os);
  return {
    "open-window": {
      program: `${PROGRAM} open-window`,
      summary: "Lets restarts and updates through for a while, whatever the maintenance sensor " +
        "says. While a configuration is applied they wait all the same.",
      flags: {
        dir,
        "minutes": {
          type: "integer",
          default: 60,
          min: 1,
          max: LONGEST_WINDOW_MINUTES,
          doc: "For how long.",
        },
      },
    },
    "close-window": {
      program: `${PROGRAM} close-window`,
      summary: "Leaves the window to the maintenance sensor again.",
      flags: { dir },
    },
    "allow-version": {
      program: `${PROGRAM} allow-version`,
      summary: "Lets a machine whose defaults file names release_keys go back to VERSION: from " +
        "now on this is the lowest version that it installs.",
      arguments: [{ placeholder: "VERSION", doc: "Lowest version to be installed: 1.2.3." }],
      flags: {
        dir,
        "program": {
          type: "string",
          default: "machine-server",
          choices: ["machine-server", "machine-agent"],
          doc: "Whose version it is.",
        },
      },
    },
  } as const satisfies Record<OwnerCommand["kind"], FlagSpec>;
}

/**
 * Reads one of the owner's commands; undefined when the command line is none.
 *
 * @throws {UsageError}
 */
export function readOwnerCommand(
  argv: readonly string[],
  os: string,
  env?: ReadEnv,
): OwnerCommand | { readonly kind: "help"; readonly text: string } | undefined {
  const [kind = "", ...rest] = argv;
  const specs = ownerFlags(os);
  switch (kind) {
    case "open-window": {
      const { values, help } = parseFlags(rest, specs[kind], env);
      if (help) return { kind: "help", text: renderHelp(specs[kind]) };
      return { kind, dir: absolute(values.dir), minutes: values.minutes };
    }
    case "close-window": {
      const { values, help } = parseFlags(rest, specs[kind], env);
      if (help) return { kind: "help", text: renderHelp(specs[kind]) };
      return { kind, dir: absolute(values.dir) };
    }
    case "allow-version": {
      const { values, arguments: [version = ""], help } = parseFlags(rest, specs[kind], env);
      if (help) return { kind: "help", text: renderHelp(specs[kind]) };
      if (valid(version) !== version) {
        throw new UsageError(`${version} is no version; allowed: 1.2.3 or 1.2.3-rc.1`);
      }
      const program = values.program === "machine-agent" ? "machine-agent" : "machine-server";
      return { kind, dir: absolute(values.dir), program, version };
    }
    default:
      return undefined;
  }
}
