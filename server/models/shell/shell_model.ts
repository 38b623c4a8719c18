import { attributes } from "../../resources/graph/attributes.ts";
import type { Model } from "../../resources/graph/registry.ts";
import { type BuiltinEnvironment, UntrustedError } from "../environment.ts";

/** This model takes no attributes. */
export type ShellAttributes = Record<never, never>;

/** `builtin` is what an entry without a model stands for, and what other servers call it. */
const SHELL_MODELS = ["rdk:builtin:builtin", "rdk:builtin:shell"] as const;

/**
 * Models `rdk:builtin:builtin` and `rdk:builtin:shell` of `rdk:service:shell`, which are the same: a
 * terminal on this host, and copies of files both ways, with the rights of the server. Not under
 * `-untrusted-env`.
 */
export function shellModel(
  environment: BuiltinEnvironment,
  model: typeof SHELL_MODELS[number] = "rdk:builtin:builtin",
): Model<ShellAttributes> {
  return {
    api: "rdk:service:shell",
    model,
    triedWith:
      "real terminals, the published command line of the family, and copies of trees of files",
    attributes: attributes<ShellAttributes>({}),
    async construct({ log }) {
      if (environment.untrusted) throw new UntrustedError("the shell service");
      const { createShellService } = await import("./shell_service.ts");
      return createShellService(environment, log);
    },
  };
}
