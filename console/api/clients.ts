import { createClient } from "@connectrpc/connect";
import { ConfigurationService } from "../../shared/gen/machine/cloud/v1/configuration_pb.ts";
import { ConsoleService } from "../../shared/gen/machine/cloud/v1/machine_pb.ts";
import { RegistryService } from "../../shared/gen/machine/cloud/v1/registry_pb.ts";
import { AppService } from "../../shared/gen/viam/app/v1/app_pb.ts";
import { transport } from "./session.svelte.ts";

/** Organisations, locations, machines, parts, logs, keys, fragments … */
export const app = createClient(AppService, transport);
/** What the console asks beyond the public API: the live fleet and the live status of a part. */
export const consoleApi = createClient(ConsoleService, transport);
/** Schemas of modules' models, and who uses an item of the registry. */
export const registryApi = createClient(RegistryService, transport);
/** Resolved configurations, history, comparison. */
export const configurations = createClient(ConfigurationService, transport);
