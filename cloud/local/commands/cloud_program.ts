import type { Clock } from "../../../shared/base/time/clock.ts";
import type { CommandProgram } from "../../../shared/commands/run/run_command.ts";
import { cloudTrees } from "../../../shared/commands/trees/cloud_trees.ts";
import { getLogger } from "../../../shared/log/loggers.ts";
import type { Random } from "../../storage/keys/random.ts";
import { chosenPlace, placeFlags } from "./place_flags.ts";

/**
 * The commands of the API, which work on a data folder in this process, or over the network. What
 * connects is loaded when it is needed.
 */
export function cloudProgram(
  deps: { readonly clock: Clock; readonly random: Random },
): CommandProgram<typeof placeFlags> {
  const name = "machine-cloud";
  return {
    name,
    summary: "machine-cloud keeps the configuration, logs and keys of machines and serves them.",
    tree: cloudTrees,
    flags: placeFlags,
    jsonLists: "lines",
    async connect(values) {
      const log = getLogger(name);
      const place = chosenPlace(values);
      if ("url" in place) {
        const { openRemoteCloud } = await import("./remote_cloud.ts");
        return openRemoteCloud(place.url, values, log);
      }
      const { openLocalCloud } = await import("./local_cloud.ts");
      return await openLocalCloud(place.dataDir, {
        organization: values.org,
        packageLimitBytes: values["package-limit"] * 1024 * 1024,
      }, { ...deps, log });
    },
  };
}
