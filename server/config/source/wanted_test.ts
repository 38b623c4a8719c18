import assert from "node:assert/strict";
import { resolve } from "node:path";
import { emptyMachineConfig, type MachineConfig } from "../../../shared/config/machine_config.ts";
import type { ModuleConfig } from "../../../shared/config/modules.ts";
import type { PackageFolder } from "../../modules/packages/package_types.ts";
import { resourceSpecs, wantedModules, wantedPackages } from "./wanted.ts";

const config = (changes: Partial<MachineConfig>): MachineConfig => ({
  ...emptyMachineConfig(),
  ...changes,
});

/** One module as it is wanted, with what was warned of. */
function wanted(
  module: ModuleConfig,
  folder?: PackageFolder,
  entrypoint?: string,
  packageName = module.name,
) {
  const warnings: string[] = [];
  const [result] = wantedModules(config({ modules: [module] }), {
    read: (name) => name === "WHO" ? "me" : undefined,
    findPackage: (type, name) => type === "module" && name === packageName ? folder : undefined,
    manifest: () => entrypoint === undefined ? undefined : { entrypoint },
  }, (text) => warnings.push(text));
  return { ...result!, warnings };
}

Deno.test("wantedModules() takes a local module as it is written", () => {
  const module = {
    name: "m",
    executable_path: "/opt/${environment.WHO}/run",
    env: { A: "${environment.WHO}", B: "${environment.NONE}" },
    log_level: "debug",
    first_run_timeout: "90s",
  };
  assert.deepEqual(wanted(module), {
    name: "m",
    executable: "/opt/me/run",
    root: "",
    env: { A: "me", B: "${environment.NONE}" },
    tcpMode: false,
    logLevel: "debug",
    firstRunTimeoutMs: 90_000,
    warnings: ["module m: the variable NONE is not set; its placeholder stays"],
  });
});

const registry = {
  name: "m",
  type: "registry" as const,
  module_id: "acme:m",
  executable_path: "${packages.module.m}/bin/run",
};

Deno.test("wantedModules() puts the package's folder in when it is unpacked", () => {
  const { executable, root, moduleId, version, problem } = wanted(registry, { path: "/p/m-1_2_3" });
  assert.deepEqual({ executable, root, moduleId, version, problem }, {
    executable: "/p/m-1_2_3/bin/run",
    root: "/p/m-1_2_3",
    moduleId: "acme:m",
    version: "m-1_2_3",
    problem: undefined,
  });
});

Deno.test("wantedModules() takes the name of the package from the path when it is another one", () => {
  const module = { ...registry, executable_path: "${packages.module.m-module}/run" };
  const { executable, root } = wanted(module, { path: "/p/mm" }, undefined, "m-module");
  assert.deepEqual({ executable, root }, { executable: "/p/mm/run", root: "/p/mm" });
});

Deno.test("wantedModules() goes on with the older version while a newer is on its way", () => {
  const folder = { pending: "1 of 2 MB are here", previous: "/p/old" };
  const { executable, root, pending } = wanted(registry, folder);
  assert.deepEqual({ executable, root, pending }, {
    executable: "/p/old/bin/run",
    root: "/p/old",
    pending: undefined,
  });
});

Deno.test("wantedModules() says what a registry module waits for", () => {
  assert.equal(
    wanted(registry, { pending: "1 of 2 MB are here" }).pending,
    "waiting for package m: 1 of 2 MB are here",
  );
  assert.equal(
    wanted(registry, { problem: "its checksum is wrong" }).problem,
    "package m: its checksum is wrong",
  );
  assert.match(
    wanted({ name: "m", type: "registry", module_id: "acme:m" }).problem!,
    /comes from a registry, and the configuration names no package for it/,
  );
  assert.equal(
    wanted({ ...registry, status: { error: "no such version" } }).problem,
    "no such version",
  );
});

Deno.test("wantedModules() finds the program of an archive in its meta.json", () => {
  const module = { name: "m", executable_path: "/tmp/m.tar.gz" };
  assert.equal(wanted(module, { path: "/p/m" }, "bin/run").executable, "/p/m/bin/run");
  assert.match(wanted(module, { path: "/p/m" }).problem!, /no meta.json that names an entrypoint/);
});

Deno.test("wantedPackages() holds packages, and archives that modules lie in", () => {
  const packages = wantedPackages(config({
    packages: [
      { name: "cat", package: "org/cat", type: "ml_model" },
      { name: "bad", package: "org/bad", type: "ml_model", status: { error: "gone" } },
      { name: "odd", package: "org/odd", type: "nothing" },
    ],
    modules: [{ name: "m", executable_path: "m.tgz" }, { name: "n", executable_path: "/n" }],
  }));
  assert.deepEqual(packages, [
    { name: "cat", package: "org/cat", version: "latest", type: "ml_model" },
    { name: "bad", package: "org/bad", version: "latest", type: "ml_model", problem: "gone" },
    { name: "m", tarball: resolve("m.tgz"), type: "module" },
  ]);
});

Deno.test("resourceSpecs() keeps a resource waiting while a package of its attributes is on its way", () => {
  const components = [{
    name: "v",
    api: "rdk:service:mlmodel",
    model: "a:b:c",
    attributes: { path: "${packages.cat}/m", who: "${environment.WHO}" },
    frame: { parent: "world" },
  }];
  const [spec] = resourceSpecs(config({ components }), {
    read: () => "me",
    findPackage: () => ({ pending: "it is being checked" }),
  }, () => {});
  assert.equal(spec!.pending, "waiting for package cat: it is being checked");
  assert.deepEqual(spec!.attributes, { path: "${packages.cat}/m", who: "me" });
  assert.deepEqual(spec!.extra, { frame: { parent: "world" } });
});

Deno.test("wantedModules() runs a module from its reload_path, whatever the registry has", () => {
  const module = {
    name: "m",
    type: "registry" as const,
    module_id: "a:b",
    reload_enabled: true,
    reload_path: "/opt/build/run",
  };
  const { executable, moduleId, problem } = wanted(module);
  assert.deepEqual([executable, moduleId, problem], ["/opt/build/run", "a:b", undefined]);
  const off = wanted({ ...module, reload_enabled: false });
  assert.equal(off.executable, "");
});

Deno.test("wantedPackages() takes an archive of reload_path from the user's home folder", () => {
  const modules = [{
    name: "m",
    type: "registry" as const,
    module_id: "a:b",
    reload_enabled: true,
    reload_path: ".viam/packages-local/m.tar.gz",
  }];
  assert.deepEqual(wantedPackages(config({ modules }), "/home/u"), [
    { name: "m", tarball: "/home/u/.viam/packages-local/m.tar.gz", type: "module" },
  ]);
});
