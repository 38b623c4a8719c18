import { attributes, boolean, optional } from "../../resources/graph/attributes.ts";
import type { Model } from "../../resources/graph/registry.ts";
import type { BuiltinEnvironment } from "../environment.ts";

export interface SystemAttributes {
  allow_reboot: boolean | undefined;
}

/**
 * Model `rdk:builtin:system` of the generic component and of the generic service: reports the
 * host by DoCommand and restarts it where that is allowed.
 */
export function systemModel(
  api: "rdk:component:generic" | "rdk:service:generic",
  environment: BuiltinEnvironment,
): Model<SystemAttributes> {
  return {
    api,
    model: "rdk:builtin:system",
    triedWith: "programs that take the place of `systemctl` and the like, so that nothing reboots",
    attributes: attributes<SystemAttributes>({
      allow_reboot: optional(boolean(
        "Whether the command reboot restarts the host; never under -untrusted-env. Default false.",
      )),
    }),
    async construct({ attributes, log }) {
      const { createSystem } = await import("./system.ts");
      return createSystem({ allowReboot: attributes.allow_reboot ?? false, environment, log });
    },
  };
}
