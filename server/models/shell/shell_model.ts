import { attributes } from "../../resources/attributes.ts";
import type { Model } from "../../resources/registry.ts";
import { type BuiltinEnvironment, UntrustedError } from "../environment.ts";

/** This model takes no attributes. */
export type ShellAttributes = Record<never, never>;

/**
 * Model `rdk:builtin:shell` of `rdk:service:shell`: a terminal on this computer, and copies of
 * files both ways, with the rights of the server. Not under `-untrusted-env`.
 */
export function shellModel(environment: BuiltinEnvironment): Model<ShellAttributes> {
  return {
    api: "rdk:service:shell",
    model: "rdk:builtin:shell",
    attributes: attributes<ShellAttributes>({}),
    async construct({ log }) {
      if (environment.untrusted) throw new UntrustedError("the shell service");
      const { createShellService } = await import("./shell_service.ts");
      return createShellService(environment, log);
    },
  };
}
