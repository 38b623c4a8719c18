import type { CloudCredentials } from "../../../shared/cloud/auth/cloud_credentials.ts";
import { isSecureAddress } from "../../../shared/cloud/credentials/secure_address.ts";
import { HttpRequests, shown } from "../../../shared/transfer/download/http_requests.ts";
import { originCredentials } from "../../../shared/transfer/download/origin_credentials.ts";

export interface PackageRequestsOptions {
  /** `https://host:port` of the cloud; only this origin gets the credentials. */
  readonly address: string;
  readonly credentials: CloudCredentials;
  /** Plaintext to other hosts is allowed. */
  readonly allowInsecure: boolean;
  readonly fetch: typeof fetch;
}

/** Requests for archives; addresses may be relative to the cloud. */
export function packageRequests(options: PackageRequestsOptions): HttpRequests {
  const { address, credentials, allowInsecure, fetch } = options;
  return new HttpRequests({
    what: "the package",
    base: address,
    credentialsFor: originCredentials(address, credentials),
    objectionTo: (url) =>
      allowInsecure || isSecureAddress(url.href)
        ? undefined
        : `${shown(url)} is plaintext, so that others could change the package in transit; ` +
          "use https://, or allow it with -allow-insecure-creds",
    fetch,
  });
}
