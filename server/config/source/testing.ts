/** An applier for tests that look at resources only. */
import type { Logger } from "../../../shared/log/logger.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import { MachineState } from "../status/machine_state.ts";
import { ConfigurationApplier, type ConfigurationEffects } from "./applier.ts";

export interface ResourceApplierOptions
  extends Pick<ConfigurationEffects, "setMachine" | "maintenanceAllows"> {
  clock: Clock;
  log: Logger;
}

/** Nothing but the resources follows the configuration, and nothing is kept. */
export function resourceApplier(options: ResourceApplierOptions): ConfigurationApplier {
  const { clock, log, ...effects } = options;
  return new ConfigurationApplier({
    ...{ clock, log },
    state: new MachineState(clock),
    revealDiffs: false,
    effects: {
      ...effects,
      setLogging: () => {},
      setIdentity: () => {},
      setNetwork: () => Promise.resolve(),
      keep: () => {},
    },
  });
}
