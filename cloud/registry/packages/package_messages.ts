import { create, fromJson, type JsonObject, type JsonValue } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import {
  FileInfoSchema,
  type Package,
  PackageSchema,
  PackageType as PackageTypeNumber,
} from "../../../shared/gen/viam/app/packages/v1/packages_pb.ts";
import type { PackageType } from "../../storage/database/registry_schema.ts";
import type { FileRow, ItemRow } from "./package_store.ts";

const TYPES: Readonly<Record<PackageType, PackageTypeNumber>> = {
  archive: PackageTypeNumber.ARCHIVE,
  ml_model: PackageTypeNumber.ML_MODEL,
  module: PackageTypeNumber.MODULE,
  slam_map: PackageTypeNumber.SLAM_MAP,
  ml_training: PackageTypeNumber.ML_TRAINING,
};

/** The names of all types. */
export const PACKAGE_TYPES = Object.keys(TYPES) as PackageType[];

export function typeNumber(type: PackageType): PackageTypeNumber {
  return TYPES[type];
}

/** Undefined for UNSPECIFIED and for numbers that are not known here. */
export function typeOfNumber(number: PackageTypeNumber | undefined): PackageType | undefined {
  return PACKAGE_TYPES.find((type) => TYPES[type] === number);
}

/** @param url where the file is downloaded; undefined: nobody requested it */
export function toPackage(item: ItemRow, file: FileRow, url: string | undefined): Package {
  const files = JSON.parse(file.files) as JsonValue[];
  return create(PackageSchema, {
    id: `${item.org_id}/${item.name}`,
    info: {
      organizationId: item.org_id,
      name: item.name,
      version: file.version,
      type: typeNumber(item.type),
      platform: file.platform,
      metadata: JSON.parse(file.metadata) as JsonObject,
      files: files.map((entry) => fromJson(FileInfoSchema, entry)),
    },
    url: url ?? "",
    createdOn: timestampFromMs(file.created_at),
    checksum: file.crc32c,
  });
}
