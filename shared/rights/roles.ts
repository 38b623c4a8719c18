/** What somebody may be on an organisation, a location or a machine. */
export type Role = "owner" | "operator";

/**
 * What is requested:
 * - `see`: names, whether it is online, live readings;
 * - `operate`: connect to it and use its resources;
 * - `manage`: configuration, its history, logs, secrets, keys, restart, shell, tunnels, files;
 * - `report`: what a machine's own programs do: fetch the configuration, send logs and status.
 */
export type Action = "see" | "operate" | "manage" | "report";

/** What each role may do; `self` is a part with its own secret, at the cloud. */
const ACTIONS: Readonly<Record<Role | "self", ReadonlySet<Action>>> = {
  owner: new Set<Action>(["see", "operate", "manage", "report"]),
  operator: new Set<Action>(["see", "operate"]),
  self: new Set<Action>(["see", "operate", "report"]),
};

/** Whether a role covers an action. */
export function roleAllows(role: Role | "self", action: Action): boolean {
  return ACTIONS[role].has(action);
}

/** Metadata of a call through the cloud's signaller: what the caller is on the machine. */
export const ROLE_METADATA = "role";
