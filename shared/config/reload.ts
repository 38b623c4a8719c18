import type { ModuleConfig } from "./modules.ts";

/**
 * A module as it is run: one whose `reload_enabled` is set is the local program or archive at its
 * `reload_path`, whatever the registry has. That is how command lines of the public API put a module
 * that is being worked on onto a machine.
 *
 * A relative `reload_path` begins in the home folder of the user that the server runs as, like the
 * paths to which files are copied.
 */
export function reloaded(module: ModuleConfig): ModuleConfig {
  const { reload_enabled: isReloaded, reload_path: path = "" } = module;
  if (!isReloaded || path === "") return module;
  return { ...module, type: "local", executable_path: fromHome(path) };
}

/** Whether a module's program comes from the registry. */
export function isRegistryModule({ type, module_id: id }: ModuleConfig): boolean {
  return type === "registry" || (type !== "local" && Boolean(id));
}

function fromHome(path: string): string {
  const isAbsolute = /^([/\\~]|[A-Za-z]:[/\\])/.test(path);
  return isAbsolute ? path : `~/${path}`;
}
