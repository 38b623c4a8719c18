import { create, fromJson, type JsonObject } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import {
  DeprecatedStatusSchema,
  MLModelMetadataSchema,
  MLModelVersionSchema,
  MLTrainingMetadataSchema,
  MLTrainingVersionSchema,
  type Module,
  type ModuleMetadata,
  ModuleMetadataSchema,
  ModuleSchema,
  ModuleVersionSchema,
  type RegistryItem,
  RegistryItemSchema,
  UploadsSchema,
  VersionHistorySchema,
  Visibility as VisibilityNumber,
} from "../../../shared/gen/viam/app/v1/app_pb.ts";
import type { RegistryItemRow } from "../../accounts/access/scope.ts";
import type { Visibility } from "../../storage/database/schema.ts";
import { typeNumber } from "../packages/package_messages.ts";
import { uploadedDetails } from "./ml_details.ts";
import type { WholeItem } from "./whole_item.ts";

const VISIBILITIES: Readonly<Record<Visibility, VisibilityNumber>> = {
  private: VisibilityNumber.PRIVATE,
  public: VisibilityNumber.PUBLIC,
  public_unlisted: VisibilityNumber.PUBLIC_UNLISTED,
};

/** Undefined for UNSPECIFIED and for numbers that are not known here. */
export function visibilityOfNumber(number: VisibilityNumber): Visibility | undefined {
  const all = Object.keys(VISIBILITIES) as Visibility[];
  return all.find((visibility) => VISIBILITIES[visibility] === number);
}

/** What `namespace:name` is for an item: the organisation's id stands in for its namespace. */
export function itemId(item: { org_id: string; namespace: string | null; name: string }): string {
  return `${item.namespace ?? item.org_id}:${item.name}`;
}

export function readModuleDetails(details: string): ModuleMetadata {
  const options = { ignoreUnknownFields: true };
  return fromJson(ModuleMetadataSchema, JSON.parse(details) as JsonObject, options);
}

export function toModule(whole: WholeItem, includeMarkdown: boolean): Module {
  const { item, usage } = whole;
  const details = readModuleDetails(item.details);
  return create(ModuleSchema, {
    moduleId: itemId(item),
    name: item.name,
    visibility: VISIBILITIES[item.visibility],
    versions: versionsOf(whole).map((version) => create(VersionHistorySchema, version)),
    url: item.url,
    description: item.description,
    models: details.models,
    apps: details.apps,
    entrypoint: details.entrypoint,
    ...(details.firstRun === undefined ? {} : { firstRun: details.firstRun }),
    ...markdownField(item, includeMarkdown),
    organizationId: item.org_id,
    publicNamespace: item.namespace ?? "",
    totalRobotUsage: BigInt(usage?.parts ?? 0),
    totalOrganizationUsage: BigInt(usage?.organizations ?? 0),
    ...deprecatedField(item),
  });
}

export function toRegistryItem(whole: WholeItem, includeMarkdown: boolean): RegistryItem {
  const { item, usage } = whole;
  return create(RegistryItemSchema, {
    itemId: itemId(item),
    organizationId: item.org_id,
    publicNamespace: item.namespace ?? "",
    name: item.name,
    type: typeNumber(item.type),
    visibility: VISIBILITIES[item.visibility],
    url: item.url,
    description: item.description,
    totalRobotUsage: BigInt(usage?.parts ?? 0),
    totalOrganizationUsage: BigInt(usage?.organizations ?? 0),
    metadata: metadataOf(whole, includeMarkdown),
    createdAt: timestampFromMs(item.created_at),
    updatedAt: timestampFromMs(item.updated_at),
    ...deprecatedField(item),
  });
}

function metadataOf(whole: WholeItem, includeMarkdown: boolean): RegistryItem["metadata"] {
  const { item, versions, files } = whole;
  // What the item says counts more than what an upload said of itself.
  const uploaded = uploadedDetails(JSON.parse(files[0]?.metadata ?? "{}") as JsonObject);
  const details = { ...uploaded, ...JSON.parse(item.details) as JsonObject };
  const options = { ignoreUnknownFields: true };
  const dates = versions.map((row) => ({
    version: row.version,
    createdOn: timestampFromMs(row.created_at),
  }));
  switch (item.type) {
    case "module": {
      const value = readModuleDetails(item.details);
      value.versions = versionsOf(whole).map((version) => create(ModuleVersionSchema, version));
      if (includeMarkdown && item.markdown !== null) value.markdownDescription = item.markdown;
      return { case: "moduleMetadata", value };
    }
    case "ml_model": {
      const value = fromJson(MLModelMetadataSchema, details, options);
      value.detailedVersions = dates.map((date) => create(MLModelVersionSchema, date));
      return { case: "mlModelMetadata", value };
    }
    case "ml_training": {
      const value = fromJson(MLTrainingMetadataSchema, details, options);
      value.versions = dates.map((date) => create(MLTrainingVersionSchema, date));
      return { case: "mlTrainingMetadata", value };
    }
    case "archive":
    case "slam_map":
      return { case: undefined };
  }
}

/** What both messages about versions of a module have. */
function versionsOf({ versions, files }: WholeItem) {
  const byVersion = Map.groupBy(files, (file) => file.version);
  return versions.map((row) => {
    const details = readModuleDetails(row.details);
    const uploads = byVersion.get(row.version) ?? [];
    return {
      version: row.version,
      files: uploads.map((file) =>
        create(UploadsSchema, {
          platform: file.platform,
          uploadedAt: timestampFromMs(file.created_at),
        })
      ),
      models: details.models,
      apps: details.apps,
      entrypoint: uploads[0]?.entrypoint || details.entrypoint,
      ...(details.firstRun === undefined ? {} : { firstRun: details.firstRun }),
      ...deprecatedField(row),
    };
  });
}

function deprecatedField(
  row: { readonly deprecated_at: number | null; readonly deprecated_message: string },
) {
  if (row.deprecated_at === null) return {};
  const deprecatedAt = timestampFromMs(row.deprecated_at);
  const status = { deprecatedAt, message: row.deprecated_message };
  return { deprecatedStatus: create(DeprecatedStatusSchema, status) };
}

function markdownField(item: RegistryItemRow, include: boolean) {
  return include && item.markdown !== null ? { markdownDescription: item.markdown } : {};
}
