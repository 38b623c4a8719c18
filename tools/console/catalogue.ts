import type { Plugin } from "vite";
import { builtinModels } from "../../server/models/builtin.ts";
import { systemProcesses } from "../../shared/base/process/system_processes.ts";
import { systemClock } from "../../shared/base/time/clock.ts";
import { machineConfigJsonSchema } from "../../shared/config/json_schema.ts";
import { ROOT } from "../programs.ts";

const NAME = "virtual:machine-catalogue";

/** Gives the console, as a module, the JSON Schemas of configurations and of the built-in models. */
export function catalogue(): Plugin {
  return {
    name: "machine-catalogue",
    resolveId: (id) => id === NAME ? `\0${NAME}` : undefined,
    async load(id) {
      if (id !== `\0${NAME}`) return undefined;
      const registry = builtinModels({
        clock: systemClock,
        processes: systemProcesses(),
        untrusted: false,
        home: ROOT,
        variables: () => ({}),
      });
      const content = { config: machineConfigJsonSchema(), models: await registry.dump() };
      // As text, which browsers parse faster than a literal.
      return `export default JSON.parse(${JSON.stringify(JSON.stringify(content))});`;
    },
  };
}
