/** Other machines whose resources this machine uses, and programs that it keeps running. */
import { frameSchema, serviceConfigSchema } from "./resources.ts";
import * as z from "zod";
import { integer, nameText, once, openObject } from "./schema_kit.ts";

/** Another machine, reached over the network. */
export const remoteSchema = once(() =>
  openObject({
    name: nameText("resource").describe("Name of the remote; names its resources <remote>:<name>."),
    address: z.string().optional().describe("Host, host:port or cloud address."),
    prefix: z.string().optional().describe("Put before the names of its resources."),
    frame: frameSchema().optional().describe("Where the remote's world frame is."),
    auth: openObject({
      entity: z.string().optional().describe("Who signs in, for example an API key id."),
      credentials: openObject({
        type: z.string().describe("api-key, robot-secret or robot-location-secret."),
        payload: z.string().describe("The key or secret."),
      }).optional().describe("How to sign in."),
    }).optional().describe("How to sign in at the remote."),
    managed_by: z.string().optional().describe("Cloud that manages the remote."),
    insecure: z.boolean().optional().describe("Connect without TLS."),
    connection_check_interval: z.string().optional().describe(
      "How often the connection is checked, for example `10s`.",
    ),
    reconnect_interval: z.string().optional().describe("How often to try again, for example `1s`."),
    service_configs: z.array(serviceConfigSchema()).optional().describe(
      "What services do for the remote's resources.",
    ),
    secret: z.string().optional().describe("Old form of auth: a location secret."),
  })
);

/** A program that the server runs alongside itself. */
export const processSchema = once(() =>
  openObject({
    id: z.string().describe("Id of the process, unique on the machine."),
    name: z.string().describe("Program to run: a path, or a name to look for in PATH."),
    args: z.array(z.string()).optional().describe("Arguments."),
    cwd: z.string().optional().describe("Working folder. Default: the server's."),
    one_shot: z.boolean().optional().describe(
      "Run once when configured, instead of again whenever it exits.",
    ),
    username: z.string().optional().describe("User to run as; needs root. Linux only."),
    env: z.record(z.string(), z.string()).optional().describe(
      "Environment variables, added to the server's.",
    ),
    log: z.boolean().optional().describe("Put its output into the log."),
    stop_signal: z.union([z.string(), integer()]).optional().describe(
      "Signal that stops it: a name or a number. Default: SIGTERM.",
    ),
    stop_timeout: z.string().optional().describe(
      "How long to wait after that before it is killed. Default: `10s`.",
    ),
  })
);

export type RemoteConfig = z.infer<ReturnType<typeof remoteSchema>>;
export type ProcessConfig = z.infer<ReturnType<typeof processSchema>>;
