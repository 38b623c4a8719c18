/** Network and authentication of the machine's own server. */
import * as z from "zod";
import { freeObject, integer, once, openObject } from "./schema_kit.ts";

/** Where and how the server listens. */
export const networkSchema = once(() =>
  openObject({
    fqdn: z.string().optional().describe("Name of this server."),
    bind_address: z.string().optional().describe(
      "host:port to listen on. Default localhost:8080, or :8080 when a certificate is there.",
    ),
    tls_cert_file: z.string().optional().describe("Certificate file (PEM); needs tls_key_file."),
    tls_key_file: z.string().optional().describe("Private key file (PEM); needs tls_cert_file."),
    no_tls: z.boolean().optional().describe("Serve without TLS."),
    allowed_hosts: z.array(z.string()).optional().describe(
      "Further names by which browsers may reach a machine without sign-in.",
    ),
    allowed_origins: z.array(z.string()).optional().describe(
      "Pages that may call a machine without sign-in, for example https://panel.example:8443.",
    ),
    sessions: openObject({
      heartbeat_window: z.string().optional().describe(
        "A session ends when no heartbeat arrives for this long, 30ms to 1m. Default 2s.",
      ),
    }).optional().describe("Client sessions."),
    traffic_tunnel_endpoints: z.array(openObject({
      port: integer().describe("Local port that may be reached."),
      connection_timeout: z.string().optional().describe(
        "How long the port may take to answer. Default 10s.",
      ),
    })).optional().describe("Local ports that clients may reach through a tunnel."),
  })
);

/** Who may sign in at the machine's own server. */
export const authSchema = once(() =>
  openObject({
    handlers: z.array(openObject({
      type: z.string().describe("Credential type; `api-key`."),
      config: freeObject().optional().describe(
        "For api-key: <key id>: <key>, and `keys`, the list of key ids.",
      ),
    })).optional().describe("Credentials that are accepted."),
    tls_auth_entities: z.array(z.string()).optional().describe(
      "Names in client certificates that are accepted.",
    ),
    user_permissions: z.array(openObject({
      user: openObject({
        type: z.string().optional().describe(
          "Credential type, such as `api-key`. Default any.",
        ),
        id: z.string().optional().describe("Id of the key. Default everybody."),
      }).optional().describe("Who. Default everybody."),
      permissions: z.array(openObject({
        resources: z.array(z.string()).optional().describe(
          "Short or full names. Default all, and the machine as a whole.",
        ),
        allowed_methods: z.array(z.string()).optional().describe(
          "`GetReadings`, or with its service. Default all.",
        ),
      })).optional().describe("Calls that are allowed, of those that the role allows."),
    })).optional().describe("What single callers are held to; others are not."),
    external_auth_config: openObject({
      jwks: openObject({
        keys: z.array(freeObject()).optional().describe("RSA keys for RS256, RS384 or RS512."),
      }).describe("Key set that signs accepted tokens."),
    }).optional().describe("Tokens from another issuer."),
  })
);

export type NetworkConfig = z.infer<ReturnType<typeof networkSchema>>;
export type AuthConfig = z.infer<ReturnType<typeof authSchema>>;
