import type { ServiceImpl } from "@connectrpc/connect";
import type { AppService } from "../../../shared/gen/viam/app/v1/app_pb.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { Callers } from "../../accounts/access/callers.ts";
import type { ChangeFeed } from "../../storage/database/change_feed.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import type { Random } from "../../storage/keys/random.ts";
import type { DownloadUrls } from "../packages/download_urls.ts";
import type { PackageStore } from "../packages/package_store.ts";
import { itemMethods } from "./item_methods.ts";
import { moduleMethods } from "./module_methods.ts";
import { ownershipMethods } from "./ownership_methods.ts";
import { RegistryItems } from "./registry_items.ts";

export interface RegistryMethodsOptions {
  readonly callers: Pick<Callers, "scope">;
  readonly queries: Queries;
  readonly changes: Pick<ChangeFeed, "drain">;
  readonly clock: Clock;
  readonly random: Random;
  readonly store: PackageStore;
  readonly urls: DownloadUrls;
}

/** The calls of AppService about the registry: items, modules and namespaces. */
export function registryMethods(
  options: RegistryMethodsOptions,
): Partial<ServiceImpl<typeof AppService>> {
  const items = new RegistryItems(options);
  return {
    ...itemMethods({ ...options, items }),
    ...moduleMethods({ ...options, items }),
    ...ownershipMethods({ ...options, items }),
  };
}
