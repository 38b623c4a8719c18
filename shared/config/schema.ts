/** The schema of a whole configuration, composed from its subjects. */
import { agentSchema } from "./agent_schema.ts";
import { cloudSchema } from "./cloud_block.ts";
import { moduleSchema, packageSchema } from "./modules.ts";
import { authSchema, networkSchema } from "./network.ts";
import { jobSchema, logRuleSchema, maintenanceSchema, tracingSchema } from "./operation.ts";
import { processSchema, remoteSchema } from "./remotes.ts";
import { resourceSchema } from "./resources.ts";
import * as z from "zod";
import { once, openObject } from "./schema_kit.ts";
import { triggerSchema } from "./triggers.ts";

/** A machine configuration as people write it. */
export const machineConfigSchema = once(() =>
  openObject({
    components: z.array(resourceSchema()).optional().describe("Hardware and other components."),
    services: z.array(resourceSchema()).optional().describe("Services of the machine."),
    modules: z.array(moduleSchema()).optional().describe("Programs that bring models."),
    remotes: z.array(remoteSchema()).optional().describe("Other machines to use resources of."),
    processes: z.array(processSchema()).optional().describe(
      "Programs that run alongside the server.",
    ),
    packages: z.array(packageSchema()).optional().describe("Packages to download."),
    network: networkSchema().optional().describe("Where and how the server listens."),
    auth: authSchema().optional().describe("Who may sign in at the machine's server."),
    log: z.array(logRuleSchema()).optional().describe(
      "Log rules, read from top to bottom; the last one that matches applies.",
    ),
    debug: z.boolean().optional().describe("Debug logs everywhere; wins over every other rule."),
    maintenance: maintenanceSchema().optional().describe(
      "When the machine may be updated or changed.",
    ),
    disable_log_deduplication: z.boolean().optional().describe(
      "Write every log line, also one that was written 3 times in 10 seconds.",
    ),
    jobs: z.array(jobSchema()).optional().describe("Calls made by schedule."),
    tracing: tracingSchema().optional().describe("Traces of calls."),
    enable_web_profile: z.boolean().optional().describe("Serve the profiler over HTTP."),
    revision: z.string().optional().describe("Set by the cloud."),
    triggers: z.array(triggerSchema()).optional().describe("What the cloud notifies about."),
    fragments: z.array(z.unknown()).optional().describe("Fragments to include."),
    fragment_mods: z.array(z.unknown()).optional().describe("Changes to included fragments."),
    agent: agentSchema().optional().describe("Settings of the agent."),
    cloud: cloudSchema().optional().describe(
      "Which cloud the machine belongs to; in the file on the machine.",
    ),
  })
);
