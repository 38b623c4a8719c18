import { type ContextKey, createContextKey } from "@connectrpc/connect";

/** Credential types of the public protocol. */
export type CredentialType = "api-key" | "robot-secret" | "robot-location-secret";

/** What a token stands for: credentials, or the session of a person who signed in at the cloud. */
export type IdentityType = CredentialType | "session";

/** Who a call comes from, as its token says. */
export interface Identity {
  /**
   * Key id for `api-key`, part id for `robot-secret`, domain name for `robot-location-secret`, user
   * id for `session`.
   */
  readonly entity: string;
  readonly credentialType: IdentityType;
  /** What the issuer wants to find again, such as organisation or secret id; text only. */
  readonly claims: Readonly<Record<string, string>>;
}

/** Where handlers find the caller; undefined when the call needed no authentication. */
export const identityKey: ContextKey<Identity | undefined> = createContextKey<
  Identity | undefined
>(undefined, { description: "identity of the caller" });
