/** What a configuration asks of the parts of the server: resources, modules, packages. Pure. */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { homedir } from "node:os";
import { basename, isAbsolute, join, resolve } from "node:path";
import type { MachineConfig } from "../../../shared/config/machine_config.ts";
import type { ModuleConfig } from "../../../shared/config/modules.ts";
import { isRegistryModule, reloaded } from "../../../shared/config/reload.ts";
import type { ResourceConfig } from "../../../shared/config/resources.ts";
import { parseGoDuration } from "../../../shared/base/time/duration.ts";
import type { WantedModule } from "../../modules/manager/wanted_module.ts";
import {
  PACKAGE_TYPES,
  type PackageFolder,
  type PackageType,
  type WantedPackage,
} from "../../modules/packages/package_types.ts";
import type { ResourceSpec } from "../../resources/graph/target.ts";
import { type PlaceholderSources, resolvePlaceholders } from "./placeholders.ts";

/** Notified of what is odd but stops nothing. */
export type Warn = (message: string) => void;

/** All components and services as the resource graph takes them. */
export function resourceSpecs(
  { components, services }: Pick<MachineConfig, "components" | "services">,
  sources: PlaceholderSources,
  warn: Warn,
): ResourceSpec[] {
  return [...components, ...services].map((entry) => {
    const written = (entry.attributes ?? {}) as JsonObject;
    const { value, missing, pending, problem } = resolvePlaceholders(written, sources);
    for (const name of missing) warn(unsetVariable(`${entry.api}/${entry.name}`, name));
    return {
      name: entry.name,
      api: entry.api,
      model: entry.model,
      attributes: value,
      dependsOn: entry.depends_on ?? [],
      extra: extraOf(entry),
      ...(problem !== undefined && { problem }),
      ...(pending !== undefined && { pending }),
    };
  });
}

function extraOf({ frame, log_configuration, service_configs }: ResourceConfig): JsonObject {
  return {
    ...(frame && { frame }),
    ...(log_configuration && { log_configuration }),
    ...(service_configs && { service_configs }),
  } as JsonObject;
}

/** Packages of the configuration, and archives on this host that hold modules. */
export function wantedPackages(
  { packages, modules }: Pick<MachineConfig, "packages" | "modules">,
  userHome = homedir(),
): WantedPackage[] {
  const fromCloud = packages.filter((entry) => isPackageType(entry.type)).map((entry) => ({
    name: entry.name,
    package: entry.package,
    version: entry.version || "latest",
    type: entry.type as PackageType,
    ...(entry.status?.error && { problem: entry.status.error }),
  }));
  const local = modules.map(reloaded).filter(isArchive).map((module) => ({
    name: module.name,
    tarball: absolutePath(module.executable_path!, userHome),
    type: "module" as const,
  }));
  return [...fromCloud, ...local];
}

function isPackageType(type: string): type is PackageType {
  return (PACKAGE_TYPES as readonly string[]).includes(type);
}

/** True for a module that lies in an archive on this host. */
function isArchive(module: ModuleConfig): boolean {
  const { executable_path: path = "" } = module;
  return !isRegistryModule(module) && /\.(tgz|tar\.gz)$/i.test(path);
}

function absolutePath(path: string, userHome: string): string {
  if (path.startsWith("~/")) return join(userHome, path.slice(2));
  return isAbsolute(path) ? path : resolve(path);
}

/** What an unpacked package says of itself in `meta.json`. */
export interface PackageManifest {
  /** Path of the program, in the package. */
  readonly entrypoint?: string;
}

/** What {@link wantedModules} has to know of the packages. */
export interface ModuleSources extends PlaceholderSources {
  /** `meta.json` of an unpacked package; undefined when it has none that can be read. */
  readonly manifest: (folder: string) => PackageManifest | undefined;
}

/** All modules, with their placeholders filled in. */
export function wantedModules(
  { modules }: Pick<MachineConfig, "modules">,
  sources: ModuleSources,
  warn: Warn,
): WantedModule[] {
  return modules.map(reloaded).map((module) => {
    const written = {
      path: module.executable_path ?? "",
      env: module.env ?? {},
    } satisfies JsonValue;
    const { value, missing, ...held } = resolvePlaceholders(written, sources);
    for (const name of missing) warn(unsetVariable(`module ${module.name}`, name));
    const { executable, root, ...placed } = place(module, value.path, sources);
    const problem = module.status?.error || held.problem || placed.problem;
    const pending = held.pending ?? placed.pending;
    const timeoutMs = firstRunTimeout(module);
    return {
      name: module.name,
      executable,
      root,
      env: value.env,
      tcpMode: module.tcp_mode ?? false,
      ...(module.module_id && { moduleId: module.module_id }),
      ...(module.log_level && { logLevel: module.log_level }),
      ...(timeoutMs !== undefined && { firstRunTimeoutMs: timeoutMs }),
      // A package's folder is another one for each version.
      ...(root !== "" && { version: basename(root) }),
      ...(problem && { problem }),
      ...(pending !== undefined && { pending }),
    };
  });
}

interface Place {
  readonly executable: string;
  /** Empty: the folder of the program. */
  readonly root: string;
  readonly problem?: string;
  readonly pending?: string;
}

function place(module: ModuleConfig, path: string, sources: ModuleSources): Place {
  const isRegistry = isRegistryModule(module);
  if (!isRegistry && !isArchive(module)) return { executable: path, root: "" };
  const found = sources.findPackage("module", packageName(module));
  const folder = folderOf(found);
  if (folder === undefined) return { executable: "", root: "", ...whyNot(module, found) };
  // The cloud names the program of a registry module; one in an archive says it itself.
  if (isRegistry && path !== "") return { executable: path, root: folder };
  const entrypoint = sources.manifest(folder)?.entrypoint;
  if (!entrypoint) {
    const problem = `module ${module.name}: its package has no meta.json that names an entrypoint`;
    return { executable: "", root: folder, problem };
  }
  return { executable: join(folder, entrypoint), root: folder };
}

/** A registry module's package may have another name than the module; its path shows which. */
function packageName({ name, executable_path: path = "" }: ModuleConfig): string {
  return /^\$\{packages\.module\.([^{}$]+)\}/.exec(path)?.[1] ?? name;
}

function folderOf(found: PackageFolder | undefined): string | undefined {
  if (!found) return undefined;
  return "path" in found ? found.path : found.previous;
}

function whyNot(module: ModuleConfig, found: PackageFolder | undefined) {
  if (!found) {
    return {
      problem: `module ${module.name} comes from a registry, and the configuration names no ` +
        "package for it; registry modules need a cloud, local ones an executable_path",
    };
  }
  if ("pending" in found) return { pending: `waiting for its package: ${found.pending}` };
  return "problem" in found ? { problem: `its package: ${found.problem}` } : {};
}

function firstRunTimeout({ first_run_timeout: limit }: ModuleConfig): number | undefined {
  if (limit === undefined || limit === "") return undefined;
  // A number is nanoseconds; a text was checked with the configuration.
  const ms = typeof limit === "number" ? limit / 1_000_000 : parseGoDuration(limit);
  return ms > 0 ? ms : undefined;
}

function unsetVariable(owner: string, name: string): string {
  return `${owner}: the variable ${name} is not set; its placeholder stays`;
}
