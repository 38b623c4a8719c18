import { create, type JsonObject, toJson } from "@bufbuild/protobuf";
import { Code, ConnectError, type ServiceImpl } from "@connectrpc/connect";
import {
  type AppService,
  type ListRegistryItemsRequest,
  MLModelMetadataSchema,
  MLTrainingMetadataSchema,
  ModuleMetadataSchema,
  RegistryItemStatus,
  type UpdateRegistryItemRequest,
} from "../../../shared/gen/viam/app/v1/app_pb.ts";
import { requireFew } from "../../api/lists/few.ts";
import type { Callers } from "../../accounts/access/callers.ts";
import type { RegistryItemRow, Scope } from "../../accounts/access/scope.ts";
import type { Visibility } from "../../storage/database/schema.ts";
import { requireItemName, requireType, requireValid } from "../packages/names.ts";
import { platformRank } from "../packages/platforms.ts";
import { checkItemTexts, checkModuleDetails } from "./checks.ts";
import { itemId, readModuleDetails, toRegistryItem, visibilityOfNumber } from "./item_messages.ts";
import type { RegistryItems } from "./registry_items.ts";
import type { WholeItem } from "./whole_item.ts";

export interface ItemMethodsOptions {
  readonly callers: Pick<Callers, "scope">;
  readonly items: RegistryItems;
}

/** Items in one answer; `page_token` is the id of the last one that the caller has. */
const PAGE = 500;

/** The calls of AppService about items of the registry, whatever their type. */
export function itemMethods(
  { callers, items }: ItemMethodsOptions,
): Partial<ServiceImpl<typeof AppService>> {
  return {
    async getRegistryItem({ itemId, includeMarkdownDocumentation }, context) {
      const scope = await callers.scope(context);
      const whole = await items.wholeOne(await scope.registryItem(itemId, "see"));
      return { item: toRegistryItem(whole, includeMarkdownDocumentation ?? false) };
    },

    async createRegistryItem({ organizationId, name, type }, context) {
      const scope = await callers.scope(context);
      await scope.organization(organizationId, "manage");
      requireItemName("name", name);
      await items.create({ orgId: organizationId, name, type: requireType("type", type) });
      return {};
    },

    async updateRegistryItem(request, context) {
      const scope = await callers.scope(context);
      const item = await scope.registryItem(request.itemId, "manage");
      checkItemTexts({ ...request, markdown: request.markdownDescription });
      await items.update(item, {
        visibility: visibilityOfNumber(request.visibility),
        // Clients that change one thing send the others as they were; empty ones are not sent.
        description: request.description || undefined,
        url: request.url,
        markdown: request.markdownDescription,
        details: newDetails(item, request.metadata),
      });
      return {};
    },

    async listRegistryItems(request, context) {
      const scope = await callers.scope(context);
      const rows = await items.whole(await listed(scope, request));
      const wanted = rows.filter((whole) => matches(whole, request));
      const markdown = request.includeMarkdownDocumentation ?? false;
      return { items: wanted.slice(0, PAGE).map((whole) => toRegistryItem(whole, markdown)) };
    },

    async deleteRegistryItem({ itemId }, context) {
      const scope = await callers.scope(context);
      await items.delete(await scope.registryItem(itemId, "manage"));
      return {};
    },
  };
}

async function listed(
  scope: Scope,
  request: ListRegistryItemsRequest,
): Promise<RegistryItemRow[]> {
  const { organizationId, types, visibilities, publicNamespaces } = request;
  requireFew("types", types);
  requireFew("visibilities", visibilities);
  requireFew("public_namespaces", publicNamespaces);
  let query = scope.registryItems().selectAll("registry_items").select("organizations.namespace")
    .where((eb) =>
      eb.or([
        eb("registry_items.org_id", "in", scope.orgIds),
        eb("registry_items.visibility", "=", "public"),
      ])
    )
    .orderBy("registry_items.name").orderBy("registry_items.id");
  // What is deprecated is for nobody to begin with; owners may request theirs.
  query = request.showOwnedDeprecated
    ? query.where((eb) =>
      eb.or([
        eb("registry_items.deprecated_at", "is", null),
        eb("registry_items.org_id", "in", scope.orgIds),
      ])
    )
    : query.where("registry_items.deprecated_at", "is", null);
  if (organizationId) query = query.where("registry_items.org_id", "=", organizationId);
  if (types.length > 0) {
    const names = types.map((type) => requireType("types", type));
    query = query.where("registry_items.type", "in", names);
  }
  const wanted = visibilities.map(visibilityOfNumber)
    .filter((visibility): visibility is Visibility => visibility !== undefined);
  if (wanted.length > 0) query = query.where("registry_items.visibility", "in", wanted);
  if (publicNamespaces.length > 0) {
    query = query.where("organizations.namespace", "in", publicNamespaces);
  }
  const rows = await query.execute();
  if (!request.pageToken) return rows;
  const at = rows.findIndex((row) => itemId(row) === request.pageToken);
  if (at >= 0) return rows.slice(at + 1);
  throw new ConnectError(
    "page_token: it is not the id of an item in this list",
    Code.InvalidArgument,
  );
}

function matches({ item, files }: WholeItem, request: ListRegistryItemsRequest): boolean {
  const { platforms, statuses, searchTerm } = request;
  const runsOnOne = platforms.length === 0 ||
    files.some((file) =>
      platforms.some((platform) => platformRank(file.platform, platform) !== undefined)
    );
  const status = files.length > 0
    ? RegistryItemStatus.PUBLISHED
    : RegistryItemStatus.IN_DEVELOPMENT;
  const hasStatus = statuses.length === 0 || statuses.includes(status);
  const text = `${itemId(item)} ${item.description}`.toLowerCase();
  return runsOnOne && hasStatus && text.includes((searchTerm ?? "").toLowerCase());
}

/** JSON of what the item is to say; undefined when nothing of it was sent. */
function newDetails(
  item: RegistryItemRow,
  metadata: UpdateRegistryItemRequest["metadata"],
): string | undefined {
  switch (metadata.case) {
    case undefined:
      return undefined;
    case "updateModuleMetadata": {
      requireItemType(item, "module", "update_module_metadata");
      checkModuleDetails(metadata.value);
      const { firstRun } = readModuleDetails(item.details);
      const { $typeName: _, ...sent } = metadata.value;
      const details = create(ModuleMetadataSchema, {
        ...sent,
        ...(firstRun === undefined ? {} : { firstRun }),
      });
      return JSON.stringify(toJson(ModuleMetadataSchema, details));
    }
    case "updateMlModelMetadata": {
      requireItemType(item, "ml_model", "update_ml_model_metadata");
      const { $typeName: _, ...sent } = metadata.value;
      return JSON.stringify(toJson(MLModelMetadataSchema, create(MLModelMetadataSchema, sent)));
    }
    case "updateMlTrainingMetadata": {
      requireItemType(item, "ml_training", "update_ml_training_metadata");
      const { $typeName: _, ...sent } = metadata.value;
      const details = create(MLTrainingMetadataSchema, sent);
      return JSON.stringify(toJson(MLTrainingMetadataSchema, details) as JsonObject);
    }
  }
}

function requireItemType(item: RegistryItemRow, type: string, field: string): void {
  const problem = item.type === type ? undefined : `the item is of type ${item.type}`;
  requireValid(field, problem);
}
