/** The `cloud` block: which cloud a machine belongs to and how it signs in there. */
import * as z from "zod";
import { once, openObject } from "./schema_kit.ts";

/** The `cloud` block of a local file, and what the cloud answers in its place. */
export const cloudSchema = once(() =>
  openObject({
    id: z.string().optional().describe("Part id of this machine."),
    secret: z.string().optional().describe("Part secret; in place of api_key."),
    api_key: openObject({
      id: z.string().optional().describe("Id of the API key."),
      key: z.string().optional().describe("The API key."),
    }).optional().describe("API key; in place of secret."),
    app_address: z.string().optional().describe("Address of the cloud, https://host:port."),
    location_secret: z.string().optional().describe("Old form of location_secrets."),
    location_secrets: z.array(openObject({
      id: z.string().optional().describe("Id of the secret."),
      secret: z.string().optional().describe("The secret."),
    })).optional().describe("Secrets of the location, accepted by the machine's server."),
    primary_org_id: z.string().optional().describe("Organisation of the machine."),
    location_id: z.string().optional().describe("Location of the machine."),
    machine_id: z.string().optional().describe("Id of the machine."),
    managed_by: z.string().optional().describe("Name of the managing cloud."),
    fqdn: z.string().optional().describe("Name of the machine on the internet."),
    local_fqdn: z.string().optional().describe("Name of the machine in its own network."),
    signaling_address: z.string().optional().describe("Address of the signalling service."),
    signaling_insecure: z.boolean().optional().describe("Signalling without TLS."),
    refresh_interval: z.string().optional().describe(
      "Polling interval while no push stream reports changes. Default 10s.",
    ),
    tls_certificate: z.string().optional().describe("Certificate of this machine (PEM)."),
    tls_private_key: z.string().optional().describe("Private key of that certificate (PEM)."),
  })
);

export type CloudBlock = z.infer<ReturnType<typeof cloudSchema>>;
