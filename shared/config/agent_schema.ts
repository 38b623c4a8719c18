/** The zod schema of the `agent` object, made from the field tables; for editors. */
import {
  additionalNetworkFields,
  advancedSettingsFields,
  type AgentField,
  type AgentFieldTable,
  networkConfigurationFields,
  systemConfigurationFields,
  versionControlFields,
} from "./agent_fields.ts";
import { allowedValues } from "./agent_values.ts";
import * as z from "zod";
import { integer, once, openObject } from "./schema_kit.ts";

/** The `agent` object of spec §2.4. */
export const agentSchema = once(() =>
  openObject({
    tags: z.array(z.string()).optional().describe(
      "Groups of machines that the machine belongs to, for rollouts of releases.",
    ),
    version_control: tableSchema(versionControlFields).optional().describe(
      "Versions of agent and server.",
    ),
    advanced_settings: tableSchema(advancedSettingsFields).optional().describe(
      "Debugging, environment and start of the server.",
    ),
    network_configuration: tableSchema(networkConfigurationFields).optional().describe(
      "Provisioning and network behaviour.",
    ),
    additional_networks: z.record(
      z.string(),
      tableSchema(additionalNetworkFields, ["type"]).nullable(),
    ).optional().describe("Networks to try, by label."),
    system_configuration: tableSchema(systemConfigurationFields).optional().describe(
      "Logs and upgrades of the operating system.",
    ),
  })
);

function tableSchema(table: AgentFieldTable, required: readonly string[] = []) {
  const shape = Object.fromEntries(
    Object.entries<AgentField>(table).map(([key, field]) => {
      const schema = fieldSchema(field).describe(describeField(field));
      return [key, required.includes(key) ? schema : withDefault(schema, field)];
    }),
  );
  return openObject(shape);
}

function withDefault(schema: z.ZodType, field: AgentField): z.ZodType {
  return schema.default(structuredClone(field.default));
}

function describeField(field: AgentField): string {
  return `${field.doc} Allowed: ${allowedValues(field)}.`;
}

function fieldSchema(field: AgentField): z.ZodType {
  switch (field.kind) {
    case "boolean":
      return z.boolean();
    case "tristate":
      return z.boolean().nullable();
    case "integer":
      return integer().min(field.min).max(field.max);
    case "minutes":
      return z.union([z.number().min(field.zeroDisables ? 0 : field.min), z.string()]);
    case "text":
      return z.string();
    case "choice":
      return z.enum(field.choices);
    case "ipv4-list":
      return z.array(z.ipv4());
    case "environment":
      return z.record(z.string(), z.string().nullable());
  }
}
