/** Modules and the packages they and models come in. */
import * as z from "zod";
import { integer, nameText, once, openObject } from "./schema_kit.ts";

/** What the cloud found wrong with an entry; the machine does not use such an entry. */
const validationStatusSchema = once(() =>
  openObject({ error: z.string().optional().describe("What the cloud found wrong.") })
);

/** A program that brings models. */
export const moduleSchema = once(() =>
  openObject({
    name: nameText("module").describe("Name of the module, unique on the machine."),
    type: z.enum(["", "local", "registry"]).optional().describe(
      "local: a program on the machine. registry: downloaded.",
    ),
    executable_path: z.string().optional().describe("Path of the program; local modules only."),
    module_id: z.string().optional().describe("namespace:name in the registry."),
    version: z.string().optional().describe("Version in the registry, or `latest`."),
    log_level: z.string().optional().describe("Log level: debug, info, warn or error."),
    env: z.record(z.string(), z.string()).optional().describe(
      "Environment variables for the module.",
    ),
    tcp_mode: z.boolean().optional().describe(
      "Talk over TCP on loopback instead of a unix socket.",
    ),
    first_run_timeout: z.union([z.string(), integer()]).optional().describe(
      "How long the set-up script may take, for example `1h`. A number is nanoseconds.",
    ),
    reload_enabled: z.boolean().optional().describe(
      "Run what is at `reload_path` in place of the registry's version.",
    ),
    reload_path: z.string().optional().describe(
      "Program, or archive of a module, on the machine. A relative one begins in the home folder.",
    ),
    reload_user: z.string().optional().describe("Who set `reload_path`, for people."),
    reload_time: z.string().optional().describe("When it was set, for people."),
    status: validationStatusSchema().optional().describe("Set by the cloud on a bad entry."),
  })
);

/** A downloaded package. */
export const packageSchema = once(() =>
  openObject({
    name: nameText("module").describe("Name on the machine, used in ${packages.…} placeholders."),
    package: z.string().describe("<organisation>/<name> in the cloud."),
    version: z.string().optional().describe("Version. Default: latest."),
    type: z.string().describe("ml_model, module, slam_map or archive."),
    status: validationStatusSchema().optional().describe("Set by the cloud on a bad entry."),
  })
);

export type ModuleConfig = z.infer<ReturnType<typeof moduleSchema>>;
export type PackageConfig = z.infer<ReturnType<typeof packageSchema>>;
