import { create, toJson } from "@bufbuild/protobuf";
import { Code, ConnectError, type ServiceImpl } from "@connectrpc/connect";
import {
  type AppService,
  type ModuleFileInfo,
  ModuleMetadataSchema,
  type UploadModuleFileRequest,
} from "../../../shared/gen/viam/app/v1/app_pb.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { Callers } from "../../accounts/access/callers.ts";
import { notFound, type RegistryItemRow, type Scope } from "../../accounts/access/scope.ts";
import { stillAllowed } from "../../accounts/access/still_allowed.ts";
import type { DownloadUrls } from "../packages/download_urls.ts";
import { checkedUpload, requireItemName } from "../packages/names.ts";
import type { NewPackage, PackageStore } from "../packages/package_store.ts";
import { readUpload, type UploadPiece, whileAllowed } from "../../storage/blobs/upload_stream.ts";
import { checkItemTexts, checkModuleDetails } from "./checks.ts";
import { itemId, readModuleDetails, toModule, visibilityOfNumber } from "./item_messages.ts";
import type { RegistryItems } from "./registry_items.ts";

export interface ModuleMethodsOptions {
  readonly callers: Pick<Callers, "scope">;
  readonly items: RegistryItems;
  readonly store: PackageStore;
  readonly urls: DownloadUrls;
  readonly clock: Clock;
}

/** The calls of AppService about modules. */
export function moduleMethods(
  { callers, items, store, urls, clock }: ModuleMethodsOptions,
): Partial<ServiceImpl<typeof AppService>> {
  return {
    async createModule({ organizationId, name }, context) {
      const scope = await callers.scope(context);
      const { namespace } = await scope.organization(organizationId, "manage");
      requireItemName("name", name);
      await items.create({ orgId: organizationId, name, type: "module" });
      return { moduleId: itemId({ org_id: organizationId, namespace, name }) };
    },

    async updateModule(request, context) {
      const scope = await callers.scope(context);
      const item = await module(scope, request.moduleId, "manage");
      checkItemTexts({ ...request, markdown: request.markdownDescription });
      checkModuleDetails(request);
      const before = readModuleDetails(item.details);
      const { models, apps, firstRun } = request;
      // What is left out stays, so that one thing can be changed without sending the others.
      const details = create(ModuleMetadataSchema, {
        ...before,
        models: models.length > 0 ? models : before.models,
        apps: apps.length > 0 ? apps : before.apps,
        entrypoint: request.entrypoint || before.entrypoint,
      });
      if (firstRun !== undefined) details.firstRun = firstRun;
      await items.update(item, {
        visibility: visibilityOfNumber(request.visibility),
        url: request.url || undefined,
        description: request.description || undefined,
        markdown: request.markdownDescription,
        details: JSON.stringify(toJson(ModuleMetadataSchema, details)),
      });
      return { url: request.url || item.url };
    },

    async uploadModuleFile(requests, context) {
      const scope = await callers.scope(context);
      const upload = await readUpload(requests, pieceOf, { clock, signal: context.signal });
      const item = await module(scope, upload.info.moduleId, "manage");
      const wanted = newPackage(item, upload.info);
      await store.requireFree(wanted);
      const check = stillAllowed(
        callers,
        context,
        scope,
        (now) => module(now, upload.info.moduleId, "manage"),
      );
      const contents = whileAllowed(upload.contents, check);
      const file = await store.upload(wanted, contents, scope.caller.actor);
      return { url: urls.plain(item, file) };
    },

    async getModule({ moduleId, includeMarkdownDocumentation }, context) {
      const scope = await callers.scope(context);
      const whole = await items.wholeOne(await module(scope, moduleId, "see"));
      return { module: toModule(whole, includeMarkdownDocumentation ?? false) };
    },

    async listModules({ organizationId, includeMarkdownDocumentation }, context) {
      const scope = await callers.scope(context);
      let query = scope.registryItems().selectAll("registry_items")
        .select("organizations.namespace").where("registry_items.type", "=", "module")
        .where((eb) =>
          eb.or([
            eb("registry_items.org_id", "in", scope.orgIds),
            eb("registry_items.visibility", "=", "public"),
          ])
        )
        .orderBy("registry_items.name").orderBy("registry_items.id");
      if (organizationId) query = query.where("registry_items.org_id", "=", organizationId);
      const modules = await items.whole(await query.execute());
      const markdown = includeMarkdownDocumentation ?? false;
      return { modules: modules.map((whole) => toModule(whole, markdown)) };
    },
  };
}

async function module(
  scope: Scope,
  id: string,
  action: "see" | "manage",
): Promise<RegistryItemRow> {
  const item = await scope.registryItem(id, action);
  if (item.type !== "module") throw notFound("module", id);
  return item;
}

function pieceOf(
  { moduleFile }: UploadModuleFileRequest,
): UploadPiece<ModuleFileInfo> | undefined {
  switch (moduleFile.case) {
    case "moduleFileInfo":
      return { info: moduleFile.value };
    case "file":
      return { bytes: moduleFile.value };
    default:
      return undefined;
  }
}

function newPackage(item: RegistryItemRow, info: ModuleFileInfo): NewPackage {
  if (info.platformTags.length > 0) {
    throw new ConnectError(
      "module_file_info.platform_tags: this cloud distinguishes hosts by their platform only; " +
        "leave the tags out",
      Code.InvalidArgument,
    );
  }
  const { version, platform } = info;
  const checked = checkedUpload((name) => `module_file_info.${name}`, {
    name: item.name,
    version,
    type: "module",
    platform,
  });
  return { ...checked, orgId: item.org_id, metadata: {}, files: [] };
}
