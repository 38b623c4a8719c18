import type { ServiceImpl } from "@connectrpc/connect";
import type { AppService } from "../../shared/gen/viam/app/v1/app_pb.ts";
import type { ApiKeys } from "../accounts/access/api_keys.ts";
import type { Callers } from "../accounts/access/callers.ts";
import { keyMethods } from "../accounts/access/key_methods.ts";
import type { MachineKeys } from "../accounts/access/machine_keys.ts";
import { SecretChanges } from "../accounts/access/secret_changes.ts";
import { locationMethods } from "../accounts/organizations/location_methods.ts";
import { locationSharing } from "../accounts/organizations/location_sharing.ts";
import { namespaceMethods } from "../accounts/organizations/namespace_methods.ts";
import { organizationMethods } from "../accounts/organizations/organization_methods.ts";
import { supportEmailMethods } from "../accounts/organizations/support_email.ts";
import { updateOrganization } from "../accounts/organizations/update_organization.ts";
import { documentOf } from "../fleet/configuration/config_document.ts";
import { fragmentListMethods } from "../fleet/fragments/fragment_lists.ts";
import { fragmentMethods } from "../fleet/fragments/fragment_methods.ts";
import { resolveForSave } from "../fleet/fragments/part_resolution.ts";
import type { FragmentRollouts } from "../fleet/fragments/fragment_rollouts.ts";
import { logMethods } from "../fleet/logs/log_methods.ts";
import type { LogStore } from "../fleet/logs/log_store.ts";
import type { LogTail } from "../fleet/logs/log_tail.ts";
import { favoriteMethods } from "../fleet/machines/favorite_methods.ts";
import { fleetMethods } from "../fleet/machines/fleet_methods.ts";
import { machineMethods, type MachineMethodsOptions } from "../fleet/machines/machine_methods.ts";
import { metadataMethods } from "../fleet/machines/metadata_methods.ts";
import { propertyMethods } from "../fleet/machines/property_methods.ts";
import { secretMethods } from "../fleet/machines/secret_methods.ts";
import { summaryMethods } from "../fleet/machines/summary_methods.ts";
import { registryMethods } from "../registry/items/registry_methods.ts";
import type { DownloadUrls } from "../registry/packages/download_urls.ts";
import type { PackageStore } from "../registry/packages/package_store.ts";
import type { ChangeFeed } from "../storage/database/change_feed.ts";
import type { Random } from "../storage/keys/random.ts";
import { absentCalls } from "./absent_calls.ts";
import type { Accounts } from "./accounts.ts";

export interface AppMethodsOptions {
  readonly machines: MachineMethodsOptions & { readonly callers: Callers };
  readonly accounts: Accounts;
  readonly changes: ChangeFeed;
  readonly fragmentRollouts: FragmentRollouts;
  readonly apiKeys: ApiKeys;
  readonly machineKeys: MachineKeys;
  readonly store: PackageStore;
  readonly urls: DownloadUrls;
  readonly logs: LogStore;
  readonly tail: LogTail;
  readonly random: Random;
}

/** The calls of `viam.app.v1.AppService`, each by the capability that it belongs to. */
export function appMethods(options: AppMethodsOptions): Partial<ServiceImpl<typeof AppService>> {
  const { machines, changes, random, store, urls, machineKeys } = options;
  const { callers, queries, secrets, changed, clock } = machines;
  return {
    ...absentCalls(),
    ...organizationMethods({ callers, queries, secrets }),
    ...machineMethods(machines),
    ...secretMethods({
      ...machines,
      secretChanges: new SecretChanges({ queries, changes, clock, random }),
    }),
    ...fleetMethods({ ...machines, changes, random }),
    ...summaryMethods(machines),
    ...metadataMethods({ callers, queries, changed }),
    ...fragmentMethods({ callers, queries, rollouts: options.fragmentRollouts, clock, random }),
    ...fragmentListMethods({ callers, queries }),
    ...updateOrganization({
      ...{ callers, queries, changes, clock },
      async requireIncludable(orgId, imports) {
        await resolveForSave(queries, orgId, documentOf({ fragments: [...imports] }));
      },
    }),
    ...namespaceMethods({ callers, queries, changes, clock }),
    ...supportEmailMethods({ callers, queries }),
    ...propertyMethods(machines),
    ...locationMethods({ callers, queries, secrets, changes, clock, random }),
    ...locationSharing({ callers, queries, changes, clock }),
    ...keyMethods({ callers, queries, keys: options.apiKeys, machineKeys }),
    ...registryMethods({ callers, queries, changes, clock, random, store, urls }),
    ...options.accounts.methods,
    ...favoriteMethods(machines),
    ...logMethods({ callers, store: options.logs, tail: options.tail, clock }),
  };
}
