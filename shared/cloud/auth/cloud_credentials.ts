import type { CredentialType } from "./identity.ts";
import type { Secret } from "../../base/redaction/secret.ts";

/** How a part of a machine proves to the cloud who it is. */
export interface CloudCredentials {
  readonly type: CredentialType;
  /** Key id for `api-key`, part id for `robot-secret`. */
  readonly entity: string;
  readonly payload: Secret;
}
