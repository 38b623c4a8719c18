import { RegistryService } from "../../shared/gen/machine/cloud/v1/registry_pb.ts";
import { PackageService } from "../../shared/gen/viam/app/packages/v1/packages_pb.ts";
import type { Clock } from "../../shared/base/time/clock.ts";
import type { RpcRouter } from "../../shared/rpc/server/router.ts";
import type { Callers } from "../accounts/access/callers.ts";
import type { HttpCallers } from "../accounts/access/http_callers.ts";
import type { Presence } from "../fleet/presence/presence.ts";
import { ConfigPackages } from "../registry/items/config_packages.ts";
import { registryService } from "../registry/items/registry_service.ts";
import { packageDownloads } from "../registry/packages/downloads.ts";
import { DownloadUrls } from "../registry/packages/download_urls.ts";
import { packageService } from "../registry/packages/package_service.ts";
import { PackageStore } from "../registry/packages/package_store.ts";
import type { BlobStore } from "../storage/blobs/blob_store.ts";
import { withCallFailures } from "../storage/database/call_failures.ts";
import type { ChangeFeed } from "../storage/database/change_feed.ts";
import type { Queries } from "../storage/database/cloud_database.ts";
import type { DerivedSecrets } from "../storage/keys/derived_secrets.ts";
import type { Random } from "../storage/keys/random.ts";

export interface PackageServicesOptions {
  readonly queries: Queries;
  readonly changes: ChangeFeed;
  readonly callers: Callers;
  readonly secrets: DerivedSecrets;
  /** Holds the files. */
  readonly blobs: BlobStore;
  /** Largest package that is taken, bytes. */
  readonly limitBytes: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly publicUrl: () => string;
}

/** Packages and the registry's items: modules, models and scripts. */
export function openPackageServices(options: PackageServicesOptions) {
  const { queries, callers, clock, blobs } = options;
  const store = new PackageStore(options);
  const urls = new DownloadUrls(options.secrets, clock, options.publicUrl);
  return {
    store,
    urls,
    blobs,
    /** What configurations receive of them. */
    inConfigs: new ConfigPackages(queries, store),
    downloads: (http: HttpCallers) => packageDownloads({ queries, http, urls, blobs, clock }),
    mount: (router: RpcRouter, presence: Presence): RpcRouter =>
      router
        .service(
          PackageService,
          withCallFailures(packageService({ callers, store, urls, presence, clock })),
        )
        .service(RegistryService, withCallFailures(registryService({ callers, queries, store }))),
  };
}
