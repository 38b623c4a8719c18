/** How a machine is run: log rules, maintenance, jobs, tracing. */
import { logConfigurationSchema } from "./resources.ts";
import * as z from "zod";
import { freeObject, once, openObject } from "./schema_kit.ts";

/** One machine-wide log rule. */
export const logRuleSchema = once(() =>
  openObject({
    pattern: z.string().describe(
      "Regular expression over logger names; a lone * means anything, as in rdk:component:*.",
    ),
    level: z.string().describe("debug, info, warn or error."),
  })
);

/** When the machine may be updated or changed. */
export const maintenanceSchema = once(() =>
  openObject({
    sensor_name: z.string().describe("Full name of a sensor: rdk:component:sensor/<name>."),
    maintenance_allowed_key: z.string().describe(
      "Key of its reading that is true while maintenance is allowed.",
    ),
  })
);

/** A call made by schedule. */
export const jobSchema = once(() =>
  openObject({
    name: z.string().describe("Name of the job, unique on the machine."),
    schedule: z.string().describe(
      "Duration such as 5m, cron expression of 5 or 6 fields, or `continuous`.",
    ),
    resource: z.string().describe("Name of the resource to call."),
    method: z.string().describe("Method to call, for example DoCommand or GetReadings."),
    command: freeObject().optional().describe(
      "Argument of DoCommand; of other methods the fields of the request but the name.",
    ),
    log_configuration: logConfigurationSchema().optional().describe("Log level of the job."),
  })
);

/** Traces of calls. */
export const tracingSchema = once(() =>
  openObject({
    enabled: z.boolean().optional().describe("Record traces."),
    disk: z.boolean().optional().describe("Keep them on disk."),
    console: z.boolean().optional().describe("Print them."),
    otlpendpoint: z.string().optional().describe("Send them to this OTLP address."),
  })
);

export type LogRule = z.infer<ReturnType<typeof logRuleSchema>>;
export type MaintenanceConfig = z.infer<ReturnType<typeof maintenanceSchema>>;
export type JobConfig = z.infer<ReturnType<typeof jobSchema>>;
export type TracingConfig = z.infer<ReturnType<typeof tracingSchema>>;
