import type { Component } from "svelte";
import type { RobotPart } from "../../../shared/gen/viam/app/v1/app_pb.ts";
import type { Text } from "../../texts/text.ts";
import type { OpenMachine } from "./machine.svelte.ts";

/** What a tab of a machine's page gets. */
export interface TabProps {
  readonly machine: OpenMachine;
  /** The part that is looked at. */
  readonly part: RobotPart;
}

/** A tab of a machine's page, at `/machines/ID/NAME`. */
export interface MachineTab {
  /** In the address; empty for the first one. */
  readonly name: string;
  readonly title: Text;
  readonly load: () => Promise<{ readonly default: Component<TabProps> }>;
}
