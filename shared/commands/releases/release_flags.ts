import type { FlagTable } from "../../base/flags/flags.ts";

/** What releases are of, as clouds know them. */
const PROGRAMS: readonly ("machine-server" | "machine-agent")[] = [
  "machine-server",
  "machine-agent",
];

/** What a release can have a file for, as clouds know it. */
const RELEASE_PLATFORMS: readonly string[] = [
  ...["linux/amd64", "linux/arm64", "linux/arm32v7", "linux/arm32v6"],
  ...["darwin/amd64", "darwin/arm64", "windows/amd64"],
];

const binaryFlag = {
  type: "string",
  required: true,
  choices: PROGRAMS,
  placeholder: "PROGRAM",
  doc: "Which program: machine-server or machine-agent.",
} as const;

const versionFlag = {
  type: "string",
  required: true,
  placeholder: "VERSION",
  doc: "Version as 1.2.3 or 1.2.3-rc.1.",
} as const;

const channels = ["stable", "dev"] as const;

/** Who gets a release. */
const rolloutFlags = {
  "percent": {
    type: "integer",
    min: 0,
    max: 100,
    placeholder: "N",
    doc: "Give it to so many percent of the machines on its channel.",
  },
  "tag": {
    type: "string",
    placeholder: "TAG,…",
    doc: "Give it to machines with one of these agent.tags in their configuration.",
  },
  "stop-percent": {
    type: "integer",
    min: 0,
    max: 100,
    placeholder: "N",
    doc: "Stop when so many percent of the machines that tried it rolled back; 0 is never. " +
      "Default: 10.",
  },
  "stop-minimum": {
    type: "integer",
    min: 1,
    placeholder: "N",
    doc: "Do not stop before so many machines tried it. Default: 1.",
  },
} as const satisfies FlagTable;

export const addFlags = {
  "binary": binaryFlag,
  "version": versionFlag,
  "platform": {
    type: "string",
    required: true,
    choices: RELEASE_PLATFORMS,
    placeholder: "PLATFORM",
    doc: "What the file runs on: linux/amd64, linux/arm64, windows/amd64, …",
  },
  "channel": {
    type: "string",
    choices: channels,
    placeholder: "CHANNEL",
    doc: "stable or dev. Default: that of the version, stable for a new one.",
  },
  "notes": { type: "string", placeholder: "TEXT", doc: "What is new, for who looks at it." },
  ...rolloutFlags,
} as const satisfies FlagTable;

const listFlags = {
  "binary": { ...binaryFlag, required: false, doc: "Only those of this program." },
} as const satisfies FlagTable;

const removeFlags = {
  "binary": binaryFlag,
  "version": versionFlag,
  "platform": {
    type: "string",
    choices: RELEASE_PLATFORMS,
    placeholder: "PLATFORM",
    doc: "Only the file for this platform. Default: the whole release.",
  },
} as const satisfies FlagTable;

export const promoteFlags = {
  "binary": binaryFlag,
  "version": versionFlag,
  "channel": {
    type: "string",
    default: "stable",
    choices: channels,
    placeholder: "CHANNEL",
    doc: "Channel to put it on.",
  },
  ...rolloutFlags,
} as const satisfies FlagTable;

const withdrawFlags = {
  "binary": binaryFlag,
  "version": versionFlag,
  "go-back": {
    type: "boolean",
    doc: "Machines that run it go back to the newest release before it. Without this they keep " +
      "it until there is a newer one.",
  },
} as const satisfies FlagTable;

export const rolloutCommandFlags = {
  "binary": { ...binaryFlag, required: false },
  "version": { ...versionFlag, required: false },
  ...rolloutFlags,
  "all": { type: "boolean", doc: "Complete the rollout: every machine on its channel gets it." },
} as const satisfies FlagTable;

const oneFlags = {
  "binary": binaryFlag,
  "version": versionFlag,
} as const satisfies FlagTable;

const keyFlags = {
  "rotate": {
    type: "boolean",
    doc: "Make a new key that signs from now on; the one before vouches for it.",
  },
} as const satisfies FlagTable;

export const syncFlags = {
  "key": {
    type: "string",
    required: true,
    placeholder: "KEY",
    doc: "Public key of minisign whose signature counts: a file, or the line that begins with RW.",
  },
  "follow": {
    type: "string",
    default: "stable",
    choices: channels,
    placeholder: "CHANNEL",
    doc: "Which of the folder's channels to bring.",
  },
  "channel": {
    type: "string",
    choices: channels,
    placeholder: "CHANNEL",
    doc: "Channel of this cloud to put it on. Default: that of --follow.",
  },
  ...rolloutFlags,
} as const satisfies FlagTable;

const commandFlags = {
  "part": {
    type: "string",
    required: true,
    placeholder: "PART",
    doc: "Id or name of the part, or of the machine.",
  },
  "program": {
    type: "string",
    default: "machine-server",
    choices: PROGRAMS,
    placeholder: "PROGRAM",
    doc: "Which program it is about.",
  },
  "version": {
    type: "string",
    placeholder: "VERSION",
    doc: "For forget-bad: the version. Default: all of them.",
  },
  "valid-minutes": {
    type: "integer",
    default: 60,
    min: 1,
    max: 7 * 24 * 60,
    placeholder: "N",
    doc: "Forget it when the machine has not called by then.",
  },
} as const satisfies FlagTable;

/** The commands about releases and agents, for the program's table. */
export const releaseCommands = {
  "release add": {
    summary: "Add a file of a release; agents get it by their version_control.",
    flags: addFlags,
    arguments: [{ placeholder: "FILE", doc: "The program, as it is to be run." }],
  },
  "release list": { summary: "List the releases.", flags: listFlags },
  "release remove": {
    summary: "Delete a release that no machine runs or is pinned to.",
    flags: removeFlags,
  },
  "release promote": {
    summary: "Put a release on a channel, also one that was withdrawn.",
    flags: promoteFlags,
  },
  "release withdraw": { summary: "Offer a release to nobody any more.", flags: withdrawFlags },
  "release rollout": {
    summary: "Set who gets a release, or without that show how far the rollouts are.",
    flags: rolloutCommandFlags,
  },
  "release pause": {
    summary: "Offer a release to no further machine; those that run it keep it.",
    flags: oneFlags,
  },
  "release resume": {
    summary: "Resume a rollout that was paused or stopped.",
    flags: oneFlags,
  },
  "release sync": {
    summary: "Bring the newest release of a download folder, as make release makes them.",
    flags: syncFlags,
    arguments: [{ placeholder: "URL", doc: "Address of the folder: https://downloads.example" }],
  },
  "release key": { summary: "Show the keys that sign releases.", flags: keyFlags },
  "agent command": {
    summary: "Leave a command for the agent of a machine.",
    flags: commandFlags,
    arguments: [{
      placeholder: "ACTION",
      doc: "force: install what is ready, once, whatever the maintenance window allows. " +
        "forget-bad: let a version that was rolled back be tried again. " +
        "restart: stop the program and start it again.",
    }],
  },
} as const;
