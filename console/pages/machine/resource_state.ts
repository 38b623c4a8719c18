import {
  type ResourceStatus,
  ResourceStatus_State,
} from "../../../shared/gen/viam/robot/v1/robot_pb.ts";
import { machine as words } from "../../texts/machine.ts";
import type { Text } from "../../texts/text.ts";

/** How the state of a resource is shown. */
export interface StateView {
  readonly text: Text;
  readonly kind: "good" | "warn" | "bad" | "neutral";
}

const STATES: Readonly<Record<ResourceStatus_State, StateView>> = {
  [ResourceStatus_State.UNSPECIFIED]: { text: words.stateUnknown, kind: "neutral" },
  [ResourceStatus_State.UNCONFIGURED]: { text: words.unconfigured, kind: "neutral" },
  [ResourceStatus_State.CONFIGURING]: { text: words.configuring, kind: "warn" },
  [ResourceStatus_State.READY]: { text: words.ready, kind: "good" },
  [ResourceStatus_State.REMOVING]: { text: words.removing, kind: "neutral" },
  [ResourceStatus_State.UNHEALTHY]: { text: words.unhealthy, kind: "bad" },
};

export function stateView(state: ResourceStatus_State): StateView {
  return STATES[state] ?? STATES[ResourceStatus_State.UNSPECIFIED];
}

/** `rdk:component:sensor`. */
export function apiOf({ name }: ResourceStatus): string {
  return [name?.namespace, name?.type, name?.subtype].filter(Boolean).join(":");
}

/** The unhealthy ones first, then those of modules and components by name. */
export function inOrder(resources: readonly ResourceStatus[]): ResourceStatus[] {
  const rank = ({ state }: ResourceStatus) => stateView(state).kind === "bad" ? 0 : 1;
  return [...resources].sort((a, b) =>
    rank(a) - rank(b) || (a.name?.name ?? "").localeCompare(b.name?.name ?? "") ||
    apiOf(a).localeCompare(apiOf(b))
  );
}
