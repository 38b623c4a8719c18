import { z } from "zod";

/** What is read of objects of Kubernetes; what stands in them besides is left out. */

const LONGEST_TEXT = 1_000;
const text = z.string().transform((long) => long.slice(0, LONGEST_TEXT)).optional();

const metadata = z.object({
  name: z.string(),
  uid: z.string().optional(),
  labels: z.record(z.string(), z.string()).optional(),
  annotations: z.record(z.string(), z.string()).optional(),
  deletionTimestamp: z.string().optional(),
});

const condition = z.object({ type: z.string(), status: z.string(), reason: text, message: text });

export const jobForm = z.object({
  metadata,
  status: z.object({ conditions: z.array(condition).nullish() }).optional(),
});
export type Job = z.infer<typeof jobForm>;

const containerState = z.object({
  waiting: z.object({ reason: text, message: text }).optional(),
  running: z.object({}).optional(),
  terminated: z.object({ exitCode: z.number(), reason: text, message: text }).optional(),
});

export const podForm = z.object({
  metadata,
  status: z.object({
    phase: z.string().optional(),
    reason: text,
    message: text,
    conditions: z.array(condition).nullish(),
    containerStatuses: z.array(z.object({ state: containerState.optional() })).nullish(),
  }).optional(),
});
export type Pod = z.infer<typeof podForm>;

export const eventForm = z.object({
  reason: z.string().default(""),
  message: z.string().default(""),
});

export function listOf<T>(form: z.ZodType<T>) {
  return z.object({
    items: z.array(form),
    metadata: z.object({ resourceVersion: z.string().optional() }),
  });
}
