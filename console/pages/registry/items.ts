import { timestampDate } from "@bufbuild/protobuf/wkt";
import { PackageType } from "../../../shared/gen/viam/app/packages/v1/packages_pb.ts";
import { type RegistryItem, Visibility } from "../../../shared/gen/viam/app/v1/app_pb.ts";
import { registry as words } from "../../texts/registry.ts";
import type { Text } from "../../texts/text.ts";

/** Kinds of items, in the order of the filter. */
export const KINDS: readonly (readonly [type: PackageType, name: string, text: Text])[] = [
  [PackageType.MODULE, "module", words.module],
  [PackageType.ML_MODEL, "model", words.model],
  [PackageType.ML_TRAINING, "script", words.script],
];

/** What an item is, in a word. */
export function kindText(type: PackageType): Text {
  return KINDS.find(([known]) => known === type)?.[2] ?? words.other;
}

/** Who may see items. */
export const VISIBILITIES: readonly (readonly [number: Visibility, text: Text])[] = [
  [Visibility.PRIVATE, words.private],
  [Visibility.PUBLIC, words.public],
  [Visibility.PUBLIC_UNLISTED, words.unlisted],
];

/** Who may see an item, in words. */
export function visibilityText({ visibility }: RegistryItem): Text {
  return VISIBILITIES.find(([number]) => number === visibility)?.[1] ?? words.private;
}

/** A version of an item. */
export interface ItemVersion {
  readonly version: string;
  /** Empty for items that are the same on every platform. */
  readonly platforms: readonly string[];
  readonly at: Date | undefined;
  /** Why it is not to be used any more; undefined: it is. */
  readonly deprecated: string | undefined;
}

const collator = new Intl.Collator("en", { numeric: true });

/** The versions of an item, newest first. */
export function versionsOf({ metadata }: RegistryItem): ItemVersion[] {
  switch (metadata.case) {
    case "moduleMetadata":
      return metadata.value.versions.map(({ version, files, deprecatedStatus }) => ({
        version,
        platforms: files.map(({ platform }) => platform),
        at: files.flatMap(({ uploadedAt }) => uploadedAt ? [timestampDate(uploadedAt)] : [])[0],
        deprecated: deprecatedStatus?.message,
      })).toSorted((a, b) => collator.compare(b.version, a.version));
    case "mlModelMetadata":
      return dated(metadata.value.detailedVersions);
    case "mlTrainingMetadata":
      return dated(metadata.value.versions);
    default:
      return [];
  }
}

function dated(
  versions: readonly {
    readonly version: string;
    readonly createdOn?: Parameters<typeof timestampDate>[0] | undefined;
  }[],
): ItemVersion[] {
  return versions.map(({ version, createdOn }) => ({
    ...{ version, platforms: [], deprecated: undefined },
    at: createdOn && timestampDate(createdOn),
  })).toSorted((a, b) => (b.at?.getTime() ?? 0) - (a.at?.getTime() ?? 0));
}
