import type { MakeWay } from "./provisioning_way.ts";

/**
 * Every way to provision a machine, in the order in which they begin. Each entry loads its part by
 * `import()`, so that an agent that never is in provisioning does not carry it.
 */
export const provisioningWays: readonly MakeWay[] = [
  async (deps) => (await import("./portal/portal_way.ts")).portalWay(deps),
  async (deps) => (await import("./api/api_way.ts")).apiWay(deps),
  async (deps) => (await import("./bluetooth/bluetooth_way.ts")).bluetoothWay(deps),
];
