/** Triggers: what the cloud notifies about. Spec §2.1. */
import * as z from "zod";
import { listOrOne, once, openObject } from "./schema_kit.ts";

/** Spec §2.1, and `conditional_logs_ingested`, which configurations of the field also use. */
const TRIGGER_EVENT_TYPES = [
  "part_online",
  "part_offline",
  "part_data_ingested",
  "conditional_data_ingested",
  "conditional_logs_ingested",
] as const;
const TRIGGER_DATA_TYPES = ["binary", "tabular", "file", "unspecified"] as const;
const TRIGGER_OPERATORS = ["lt", "gt", "lte", "gte", "eq", "neq", "regex"] as const;
const NOTIFICATION_TYPES = ["webhook", "email", "push"] as const;

const evalsSchema = once(() =>
  openObject({
    evals: z.array(openObject({
      operator: z.enum(TRIGGER_OPERATORS).describe("How the reading is compared with the value."),
      value: z.unknown().describe(
        "A plain value, or an object whose path names the field and whose leaf is compared: " +
          "{coordinate: {latitude: 50}}.",
      ),
    })).optional().describe("Comparisons; all must hold."),
  })
);

/** A trigger: an event and who is notified of it. */
export const triggerSchema = once(() =>
  openObject({
    name: z.string().describe("Name of the trigger, unique on the machine."),
    event: openObject({
      type: z.enum(TRIGGER_EVENT_TYPES).describe("What happened."),
      data_ingested: openObject({
        data_types: z.array(z.enum(TRIGGER_DATA_TYPES)).describe("Kinds of data that count."),
      }).optional().describe("For part_data_ingested."),
      conditional: openObject({
        data_capture_method: z.string().describe("<component type>:<component name>:<method>"),
        conditions: evalsSchema().optional().describe("Absent or empty: every sync fires."),
        condition: evalsSchema().optional().describe("Same as conditions."),
      }).optional().describe("For conditional_data_ingested."),
      log_levels: z.array(z.enum(["error", "warn", "info"])).optional().describe(
        "For conditional_logs_ingested.",
      ),
    }).describe("When the trigger fires."),
    notifications: listOrOne(
      openObject({
        type: z.enum(NOTIFICATION_TYPES).describe("How to notify."),
        value: z.string().optional().describe(
          "Webhook URL, email address, or all_machine_owners.",
        ),
        seconds_between_notifications: z.number().min(0).optional().describe(
          "Least time between two notifications, in seconds.",
        ),
        auth: openObject({
          basic: openObject({
            username: z.string().describe("User name."),
            password: z.string().describe("Password."),
          }).optional().describe("Basic authentication at the webhook."),
        }).optional().describe("How to sign in at the webhook."),
      }),
      "Who is notified; one alone needs no list.",
    ),
    disabled: z.boolean().optional().describe("True: the trigger never fires."),
    notes: z.string().optional().describe("Free text about the trigger."),
  })
);

export type TriggerConfig = z.infer<ReturnType<typeof triggerSchema>>;
export type TriggerEvent = TriggerConfig["event"];
export type TriggerNotification = TriggerConfig["notifications"][number];
/** The comparisons of a trigger: `conditions`, or `condition`, which means the same. */
export type TriggerEval = NonNullable<
  NonNullable<NonNullable<TriggerEvent["conditional"]>["conditions"]>["evals"]
>[number];
