import { type JsonObject, toJson } from "@bufbuild/protobuf";
import { Code, ConnectError, type ServiceImpl } from "@connectrpc/connect";
import {
  type CreatePackageRequest,
  FileInfoSchema,
  type PackageInfo,
  type PackageService,
} from "../../../shared/gen/viam/app/packages/v1/packages_pb.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { Callers } from "../../accounts/access/callers.ts";
import {
  notFound,
  type RegistryItemRow,
  type Scope,
  splitAtFirst,
} from "../../accounts/access/scope.ts";
import { stillAllowed } from "../../accounts/access/still_allowed.ts";
import type { Presence } from "../../fleet/presence/presence.ts";
import type { DownloadUrls } from "./download_urls.ts";
import { toPackage, typeOfNumber } from "./package_messages.ts";
import { checkedUpload, requireType, requireValid } from "./names.ts";
import type { FileRow, NewPackage, PackageStore, VersionFileRow } from "./package_store.ts";
import { platformProblem } from "../../../shared/registry/item_rules.ts";
import { withPlatform } from "./platforms.ts";
import { readUpload, type UploadPiece, whileAllowed } from "../../storage/blobs/upload_stream.ts";
import { type Candidate, chooseFile } from "./versions.ts";
import { refusal } from "../../../shared/rpc/reasons.ts";

export interface PackageServiceOptions {
  readonly callers: Pick<Callers, "scope">;
  readonly store: PackageStore;
  readonly urls: DownloadUrls;
  readonly presence: Pick<Presence, "of">;
  readonly clock: Clock;
}

/** What an upload may say of itself, characters of JSON. */
const LONGEST_METADATA = 256 * 1024;

/** `viam.app.packages.v1.PackageService`: files that machines download, in versions. */
export function packageService(
  options: PackageServiceOptions,
): ServiceImpl<typeof PackageService> {
  const { callers, store, urls } = options;
  return {
    async createPackage(requests, context) {
      const scope = await callers.scope(context);
      const upload = await readUpload(requests, pieceOf, {
        clock: options.clock,
        signal: context.signal,
      });
      const { organizationId, name, type } = upload.info;
      const requireOwn = async (scope: Scope) => {
        const isOwnModel = typeOfNumber(type) === "ml_model" &&
          scope.makesModel({ orgId: organizationId, name });
        if (!isOwnModel) await scope.organization(organizationId, "manage");
      };
      await requireOwn(scope);
      const wanted = newPackage(upload.info);
      await store.requireFree(wanted);
      const check = stillAllowed(callers, context, scope, requireOwn);
      await store.upload(wanted, whileAllowed(upload.contents, check), scope.caller.actor);
      return { id: `${organizationId}/${wanted.name}`, version: wanted.version };
    },

    async getPackage(request, context) {
      const scope = await callers.scope(context);
      const item = await packageItem(scope, request.id, "see");
      const type = typeOfNumber(request.type);
      if (type && type !== item.type) throw notFound(`${type} package`, request.id);
      if (request.platform) requireValid("platform", platformProblem(request.platform));
      const files = await store.filesOf([item.id]);
      const named = item.type === "module" ? withPlatform(request.version, files) : undefined;
      const platform = request.platform || named?.platform || platformOf(options, scope);
      const choice = chooseFile(files.map(candidate), {
        type: item.type,
        version: named?.version ?? request.version,
        platform,
      });
      switch (choice.kind) {
        case "none":
          throw refusal(
            "VERSION_UNKNOWN",
            { version: request.version ?? "" },
            `${request.id} ${choice.problem}`,
            Code.NotFound,
          );
        case "ambiguous": {
          const platforms = choice.files.map((file) => file.platform).join(", ");
          throw new ConnectError(
            `platform: ${request.id} has files for ${platforms}; name the one that is needed`,
            Code.InvalidArgument,
          );
        }
        case "found": {
          const { row } = choice.file;
          const url = request.includeUrl ? urls.signed(item, row) : undefined;
          return { package: toPackage(item, row, url) };
        }
      }
    },

    async listPackages(request, context) {
      const scope = await callers.scope(context);
      if (request.organizationId === "") throw notFound("organization", "");
      const type = request.type ? requireType("type", request.type) : undefined;
      let query = scope.registryItems().selectAll("registry_items")
        .select("organizations.namespace")
        .where("registry_items.org_id", "=", request.organizationId)
        .orderBy("registry_items.name");
      if (!scope.orgIds.includes(request.organizationId)) {
        query = query.where("registry_items.visibility", "=", "public");
      }
      if (request.name) query = query.where("registry_items.name", "=", request.name);
      if (type) query = query.where("registry_items.type", "=", type);
      const items = new Map((await query.execute()).map((item) => [item.id, item]));
      const files = await store.filesOf([...items.keys()]);
      const packages = files.flatMap((file) => {
        const item = items.get(file.item_id);
        const isWanted = !request.version || file.version === request.version;
        const url = item && request.includeUrl ? urls.signed(item, file) : undefined;
        return item && isWanted ? [toPackage(item, file, url)] : [];
      });
      return { packages };
    },

    async deletePackage({ id, version, type: number }, context) {
      const scope = await callers.scope(context);
      const item = await packageItem(scope, id, "manage");
      const type = typeOfNumber(number);
      if (type && type !== item.type) throw notFound(`${type} package`, id);
      if (version === "") {
        throw new ConnectError("version: it is missing", Code.InvalidArgument);
      }
      const removed = await store.deleteVersion(item, version);
      if (removed === 0) {
        throw refusal(
          "VERSION_UNKNOWN",
          { version },
          `${id} has no version ${JSON.stringify(version)}`,
          Code.NotFound,
        );
      }
      return {};
    },
  };
}

/** A file as something to choose from. */
export function candidate(row: VersionFileRow): Candidate & { readonly row: FileRow } {
  return {
    ...{ version: row.version, platform: row.platform, createdAtMs: row.created_at, row },
    isDeprecated: row.version_deprecated_at !== null,
  };
}

function pieceOf({ package: piece }: CreatePackageRequest): UploadPiece<PackageInfo> | undefined {
  switch (piece.case) {
    case "info":
      return { info: piece.value };
    case "contents":
      return { bytes: piece.value };
    default:
      return undefined;
  }
}

function newPackage(info: PackageInfo): NewPackage {
  const metadata = info.metadata ?? {};
  const files = info.files.map((file) => toJson(FileInfoSchema, file));
  if (JSON.stringify([metadata, files]).length > LONGEST_METADATA) {
    const message = `info.metadata: with info.files it is longer than ${LONGEST_METADATA} bytes`;
    throw new ConnectError(message, Code.InvalidArgument);
  }
  const checked = checkedUpload((name) => `info.${name}`, {
    name: info.name,
    version: info.version,
    type: requireType("info.type", info.type),
    platform: info.platform,
  });
  return {
    ...checked,
    orgId: info.organizationId,
    entrypoint: textAt(metadata, "entrypoint"),
    metadata,
    files,
  };
}

function textAt(metadata: JsonObject, key: string): string | undefined {
  const value = metadata[key];
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** The item of an id as `organisation/name`. */
async function packageItem(
  scope: Scope,
  id: string,
  action: "see" | "manage",
): Promise<RegistryItemRow> {
  const [prefix, name] = splitAtFirst(id, "/");
  if (prefix === "" || name === "") {
    throw new ConnectError(
      `id: ${JSON.stringify(id)} is no id of a package; write <organisation>/<name>`,
      Code.InvalidArgument,
    );
  }
  return await scope.registryItem(`${prefix}:${name}`, action);
}

/** Servers do not say what they run on when they request a package; they said so before. */
function platformOf({ presence }: PackageServiceOptions, scope: Scope): string | undefined {
  const { type, id } = scope.caller.actor;
  return type === "robot-secret" ? presence.of(id).facts.platform : undefined;
}
