import type { ReadEnv } from "../../shared/base/flags/flags.ts";
import { type CommandTree, renamed } from "../../shared/commands/run/command.ts";
import type { CommandProgram } from "../../shared/commands/run/run_command.ts";
import { configCommands } from "../config/config_commands.ts";
import type { OpenEditor } from "../config/edit.ts";
import { enrollmentCommands } from "../fleet/enrollment_commands.ts";
import { fragmentCommands } from "../fleet/fragment_commands.ts";
import { fragmentUseCommands } from "../fleet/fragment_use_commands.ts";
import { locationCommands } from "../fleet/location_commands.ts";
import { machineCommands } from "../fleet/machine_commands.ts";
import { keyCommands, organizationCommands } from "../fleet/organization_commands.ts";
import { memberCommands } from "../fleet/member_commands.ts";
import { partCommands } from "../fleet/part_commands.ts";
import { partQrCommands } from "../fleet/part_qr_command.ts";
import { logCommands } from "../logs/log_commands.ts";
import { microCommands } from "../micro/micro_commands.ts";
import type { BrowserDeps } from "../profiles/browser_sign_in.ts";
import { loginCommands } from "../profiles/login_commands.ts";
import { Profiles, settingsFolder } from "../profiles/profiles.ts";
import { sessionCommands } from "../profiles/session_commands.ts";
import { callCommands } from "../reach/call_command.ts";
import { copyCommands } from "../reach/copy_command.ts";
import { type Keyboard, shellCommands } from "../reach/shell_command.ts";
import { tunnelCommands } from "../reach/tunnel_command.ts";
import { cloudTrees } from "../../shared/commands/trees/cloud_trees.ts";
import { completionCommands } from "./completions.ts";
import { asked, type Question } from "../asking/asked.ts";
import { confirmBy } from "../asking/confirm.ts";
import { cloudAddress, connect, signInFlags, signInOf } from "./connect.ts";

export const PROGRAM = "machine";

/** What the words are here that come first in the commands which the cloud's own program has, too. */
const PLURALS = {
  module: "modules",
  release: "releases",
  agent: "agents",
  trigger: "triggers",
  dataset: "datasets",
  secret: "secrets",
  "training-script": "training-scripts",
};

/** What commands in common with the cloud's own program ask before they take something away. */
const QUESTIONS: Readonly<Record<string, Question>> = {
  "module remove": (_, { name, version }) =>
    `remove ${version === undefined ? "all versions" : `version ${version}`} of ${name}?`,
  "release remove": (_, { binary, version }) => `remove release ${version} of ${binary}?`,
  "secret delete": (id) => `revoke secret ${id}, and every sign-in with it?`,
  "training delete": (id) => `delete training job ${id}?`,
  "trigger delete": (name) => `delete trigger ${name}?`,
};

/** What the program needs from outside. */
export interface ProgramDeps {
  readonly env: ReadEnv;
  readonly ask: (question: string, options?: { readonly hidden?: boolean }) => Promise<string>;
  readonly browser: BrowserDeps;
  readonly openEditor: OpenEditor;
  readonly readInput: () => Promise<string>;
  readonly keyboard: Keyboard;
  /** Ends commands that continue until they are asked to stop. */
  readonly stop: AbortSignal;
}

/** The command line for people. */
export function machineProgram(deps: ProgramDeps): CommandProgram<typeof signInFlags> {
  const profiles = new Profiles(settingsFolder(deps.env));
  const confirm = confirmBy(deps.ask);
  const tree: CommandTree = {
    ...loginCommands({ profiles, cloudAddress, connect, ...deps }),
    ...sessionCommands,
    ...machineCommands(confirm),
    ...configCommands({ ...deps, confirm }),
    ...logCommands,
    ...shellCommands(deps.keyboard),
    ...copyCommands,
    ...tunnelCommands(deps.stop),
    ...callCommands,
    ...partCommands(confirm),
    ...partQrCommands,
    ...locationCommands(confirm),
    ...enrollmentCommands(confirm),
    ...organizationCommands,
    ...memberCommands(confirm),
    ...keyCommands(confirm, profiles),
    ...fragmentCommands(confirm),
    ...fragmentUseCommands,
    ...renamed(asked(cloudTrees, confirm, QUESTIONS), PLURALS),
    ...microCommands,
    ...completionCommands(PROGRAM, () => tree, signInFlags),
  };
  return {
    name: PROGRAM,
    summary: "machine works with a fleet of machines through its cloud.",
    tree,
    firstWords: PLURALS,
    flags: signInFlags,
    connect: async (values) => connect(await signInOf(values, profiles)),
  };
}
