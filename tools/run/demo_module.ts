/** The demo machine's module: a sensor on the published Python SDK. */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { writeFileAtomic } from "../../shared/base/files/atomic_write.ts";

const PROGRAM = fileURLToPath(new URL("module/gardener.py", import.meta.url));
const INSTALLER = fileURLToPath(new URL("../python_sdk.sh", import.meta.url));

const MODULE = "garden";
const SENSOR = "gardener";
/** What the module's sensor reads. */
const THERMOMETER = "greenhouse";

/**
 * Installs the Python SDK where it is not yet, and writes the program that starts the module.
 *
 * @returns its path, below `dataDir`.
 * @throws Error in one line when this host has no Python that will do, or no network.
 */
export async function prepareModule(dataDir: string, signal: AbortSignal): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command("sh", {
    args: [INSTALLER],
    stdin: "null",
    signal,
  }).output();
  const said = new TextDecoder().decode(success ? stdout : stderr).trim();
  if (!success) throw new Error(said.split("\n").at(-1) || "python_sdk.sh failed");
  const path = join(dataDir, "demo-module.sh");
  await writeFileAtomic(path, `#!/bin/sh\nexec '${said}' '${PROGRAM}' "$@"\n`, { mode: 0o755 });
  return path;
}

/** The configuration with the module and its sensor; as it is where it has one of that name. */
export function withModule(config: JsonObject, program: string): JsonObject {
  const modules = asList(config["modules"]);
  const components = asList(config["components"]);
  if (hasEntry(modules, MODULE) || hasEntry(components, SENSOR)) return config;
  return {
    ...config,
    modules: [...modules, { name: MODULE, type: "local", executable_path: program }],
    components: [...components, {
      name: SENSOR,
      api: "rdk:component:sensor",
      model: "demo:garden:gardener",
      attributes: { thermometer: THERMOMETER },
    }],
  };
}

function asList(value: JsonValue | undefined): JsonValue[] {
  return Array.isArray(value) ? value : [];
}

function hasEntry(list: readonly JsonValue[], name: string): boolean {
  return list.some((entry) => (entry as { name?: JsonValue } | null)?.name === name);
}
