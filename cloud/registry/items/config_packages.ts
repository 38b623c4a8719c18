import { create } from "@bufbuild/protobuf";
import type { MachineConfig } from "../../../shared/config/machine_config.ts";
import { isRegistryModule, reloaded } from "../../../shared/config/reload.ts";
import {
  AppValidationStatusSchema,
  type ModuleConfig as ModuleMessage,
  type PackageConfig as PackageMessage,
  PackageConfigSchema,
  type RobotConfig,
} from "../../../shared/gen/viam/app/v1/robot_pb.ts";
import {
  isPrefix,
  type RegistryItemRow,
  registryItemsFor,
  splitAtFirst,
} from "../../accounts/access/scope.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import { candidate } from "../packages/package_service.ts";
import type { FileRow, PackageStore } from "../packages/package_store.ts";
import { chooseFile } from "../packages/versions.ts";
import { readModuleDetails } from "./item_messages.ts";

/** The part that asks. */
export interface AskingPart {
  readonly orgId: string;
  /** `os/architecture`; undefined when it never said. */
  readonly platform: string | undefined;
}

interface Resolved {
  readonly item: RegistryItemRow;
  readonly file: FileRow;
}

/**
 * Fills in what a machine cannot know: which package a registry module comes in, in which version,
 * and where its program lies in there; and which version a package has. What cannot be found says
 * why in its status, and the machine leaves it out.
 */
export class ConfigPackages {
  constructor(private readonly queries: Queries, private readonly store: PackageStore) {}

  /** @param message made of `config`: their lists have the same entries */
  async complete(message: RobotConfig, config: MachineConfig, part: AskingPart): Promise<void> {
    for (const [at, entry] of config.packages.entries()) {
      const target = message.packages[at];
      if (target) await this.#package(target, { ...entry, version: entry.version ?? "" }, part);
    }
    for (const [at, module] of config.modules.entries()) {
      const { module_id: id, version } = module;
      const target = message.modules[at];
      // One that is being worked on runs from its machine, and needs no version here.
      if (target && id && isRegistryModule(reloaded(module))) {
        await this.#module(message, target, { id, version: version ?? "" }, part);
      }
    }
  }

  async #package(
    target: PackageMessage,
    wanted: { package: string; version: string; type: string },
    part: AskingPart,
  ): Promise<void> {
    if (target.status) return;
    const id = wanted.package;
    const [prefix, name] = splitAtFirst(id, "/");
    const resolved = await this.#resolve({ ...wanted, id, prefix, name }, part);
    if (typeof resolved === "string") {
      target.status = create(AppValidationStatusSchema, { error: resolved });
    } else target.version = resolved.file.version;
  }

  async #module(
    message: RobotConfig,
    target: ModuleMessage,
    { id, version }: { id: string; version: string },
    part: AskingPart,
  ): Promise<void> {
    if (target.status) return;
    const [prefix, name] = splitAtFirst(id, ":");
    const resolved = await this.#resolve({ id, prefix, name, version, type: "module" }, part);
    const failed = (error: string) => {
      target.status = create(AppValidationStatusSchema, { error });
    };
    if (typeof resolved === "string") return failed(resolved);
    const { item, file } = resolved;
    const entrypoint = file.entrypoint || readModuleDetails(item.details).entrypoint;
    if (entrypoint === "") {
      return failed(
        `${id} ${file.version} has no entrypoint: nothing names the program in it to start. ` +
          "Upload it with one in meta.json, or with --entrypoint",
      );
    }
    const packageName = freeName(target.name, message.packages);
    message.packages.push(create(PackageConfigSchema, {
      name: packageName,
      package: `${item.org_id}/${item.name}`,
      version: file.version,
      type: "module",
    }));
    target.path = `\${packages.module.${packageName}}/${entrypoint}`;
  }

  /** The file that a part gets, or what is wrong. */
  async #resolve(
    wanted: { id: string; prefix: string; name: string; version: string; type: string },
    part: AskingPart,
  ): Promise<Resolved | string> {
    const { id, type } = wanted;
    const item = await registryItemsFor(this.queries, [part.orgId]).selectAll("registry_items")
      .select("organizations.namespace").where("registry_items.name", "=", wanted.name)
      .where(isPrefix(wanted.prefix)).executeTakeFirst();
    if (!item) {
      return `there is no ${type} ${id} that this organisation may use; upload it, or correct the id`;
    }
    if (item.type !== type) return `${id} is of type ${item.type}, not ${type}`;
    const files = await this.store.filesOf([item.id]);
    const choice = chooseFile(files.map(candidate), {
      type: item.type,
      version: wanted.version,
      platform: part.platform,
    });
    switch (choice.kind) {
      case "found":
        return { item, file: choice.file.row };
      case "ambiguous": {
        const [first] = choice.files;
        // The version is the same for all; which file it is, is decided when the part requests it.
        if (first) return { item, file: first.row };
        return `${id} has no files`;
      }
      case "none":
        return `${id} ${choice.problem}`;
    }
  }
}

/** The module's own name, unless a package of the configuration has it. */
function freeName(name: string, packages: readonly PackageMessage[]): string {
  const taken = new Set(packages.map((entry) => entry.name));
  let free = name;
  for (let at = 0; taken.has(free); at++) {
    free = at === 0 ? `${name}-module` : `${name}-module-${at}`;
  }
  return free;
}
