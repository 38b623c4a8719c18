/** The updates whose every moment is tried. */
import { join } from "node:path";
import type { AgentRig, AgentVersion } from "./agent_rig.ts";
import type { Behaviour } from "./versions.ts";

/** An update of the server. */
export interface ServerStory {
  readonly name: string;
  /** What is installed before; undefined: nothing. */
  readonly before: Behaviour | undefined;
  /** Version B. */
  readonly next: Behaviour;
  /** What may run right after a kill, without a word of the cloud. */
  readonly may: readonly string[];
  /** What runs in the end. */
  readonly ends: "A" | "B";
}

export const SERVER_STORIES: readonly ServerStory[] = [
  { name: "a first install", before: undefined, next: "serves", may: ["B"], ends: "B" },
  {
    name: "an update",
    before: "serves",
    next: "serves with a newer schema",
    may: ["A", "B"],
    ends: "B",
  },
  {
    name: "a rollback",
    before: "serves",
    next: "ends at once with a newer schema",
    may: ["A"],
    ends: "A",
  },
];

/** An update of the agent. */
export interface AgentStory {
  readonly name: string;
  readonly b: AgentVersion;
  /** Version B makes the cloud unreachable for itself. */
  readonly losesCloud: boolean;
  /** Runs whose moments are rows, in their order. */
  readonly runs: readonly ("A" | "B" | "A again")[];
  readonly ends: "A" | "B";
}

export const AGENT_STORIES: readonly AgentStory[] = [
  {
    name: "own update",
    b: { bringsSchemaOn: true },
    losesCloud: false,
    runs: ["A", "B"],
    ends: "B",
  },
  {
    name: "way back",
    b: { bringsSchemaOn: true, limits: { unhealthyMs: 400 } },
    losesCloud: true,
    runs: ["B", "A again"],
    ends: "A",
  },
];

/** Writes the versions of a story; A is the one that is installed. */
export async function prepareAgents(
  machine: AgentRig,
  { b, losesCloud, ends }: AgentStory,
): Promise<void> {
  const noCloudFile = join(machine.rig.root, "no-cloud");
  const options = losesCloud ? { ...b, script: `touch "${noCloudFile}"`, noCloudFile } : b;
  const target = await machine.version("B", undefined, options);
  await machine.version("B", target, options);
  await machine.version("A", target, {
    script: `rm -f "${noCloudFile}"`,
    settlesAt: ends === "A" ? "refused" : "idle",
  });
}
