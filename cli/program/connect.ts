import { Code, ConnectError } from "@connectrpc/connect";
import { buildInfo } from "../../shared/base/build_info/build_info.ts";
import { isLoopbackHost } from "../../shared/base/net/loopback.ts";
import { type FlagTable, type FlagValues, UsageError } from "../../shared/base/flags/flags.ts";
import { Secret } from "../../shared/base/redaction/secret.ts";
import {
  type AccessToken,
  CloudConnection,
  type CloudConnectionOptions,
} from "../../shared/cloud/client/connection.ts";
import type { OpenCloud } from "../../shared/commands/run/run_command.ts";
import type { CloudCredentials } from "../../shared/cloud/auth/cloud_credentials.ts";
import { reasonOf } from "../../shared/rpc/reasons.ts";
import { getLogger } from "../../shared/log/loggers.ts";
import type { KeyProfile, Profile, Profiles, SessionProfile } from "../profiles/profiles.ts";

/** What every command of `machine` takes: who signs in where. */
export const signInFlags = {
  "profile": {
    type: "string",
    placeholder: "NAME",
    env: "MACHINE_PROFILE",
    doc: "Who signs in where, as machine login keeps it. Default: what was used last.",
  },
  "org": {
    type: "string",
    placeholder: "ORG",
    env: "MACHINE_ORG",
    doc: "Id, name or namespace of the organisation. Default: the only one there is.",
  },
  "cloud": {
    type: "string",
    placeholder: "URL",
    env: "MACHINE_CLOUD",
    doc: "Address of the cloud, with --key-id and --key in place of a profile.",
  },
  "key-id": {
    type: "string",
    placeholder: "ID",
    env: "MACHINE_CLOUD_API_KEY_ID",
    doc: "Id of an API key, with --cloud.",
  },
  "key": {
    type: "string",
    placeholder: "KEY",
    env: "MACHINE_CLOUD_API_KEY",
    doc: "The API key; other users see it on a command line, not in the environment.",
  },
} as const satisfies FlagTable;

export type SignInValues = FlagValues<typeof signInFlags>;

/** Who signs in where: what options and environment say, or a profile. @throws {UsageError} */
export async function signInOf(values: SignInValues, profiles: Profiles): Promise<Profile> {
  const { cloud, "key-id": keyId, key } = values;
  if (cloud === undefined) return (await profiles.choose(values.profile)).profile;
  if (!keyId || !key) {
    throw new UsageError(
      "--cloud needs an API key: --key-id and --key, or the environment variables " +
        "MACHINE_CLOUD_API_KEY_ID and MACHINE_CLOUD_API_KEY; or sign in with machine login",
    );
  }
  return { cloud: cloudAddress(cloud), key_id: keyId, key };
}

/**
 * `https://host` or `http://host:port`. Without a scheme it is `https`, but `http` to this host.
 *
 * @throws {UsageError}
 */
export function cloudAddress(text: string, option = "--cloud"): string {
  const isHere = isLoopbackHost(URL.parse(`http://${text}`)?.hostname ?? "");
  const url = URL.parse(text.includes("://") ? text : `${isHere ? "http" : "https"}://${text}`);
  const isWeb = url?.protocol === "http:" || url?.protocol === "https:";
  if (url && isWeb && url.pathname === "/" && url.search === "" && url.username === "") {
    return url.origin;
  }
  throw new UsageError(
    `${option}: ${JSON.stringify(text)} is no such address; write https://HOST or ` +
      "http://HOST:PORT, nothing after it",
  );
}

/** A cloud, before somebody has signed in there. */
export type Place = Pick<Profile, "cloud" | "allow_insecure">;

/**
 * Signs in with the first call; without an account, for the calls that need none.
 *
 * @throws {UsageError} when the key or token would go over plaintext
 */
export function connect(profile: Profile | Place): OpenCloud {
  const { cloud, allow_insecure: allowInsecure = false } = profile;
  const account = accountOf(profile);
  const connection = open(cloud, account?.credentials, allowInsecure);
  return {
    transport: connection.transport,
    name: cloud,
    async download(path, query) {
      const url = new URL(path, `${cloud}/`);
      for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
      return await fetch(url, { headers: account?.headers ?? {} });
    },
    atMachine(address) {
      const url = cloudAddress(address, "--address");
      if (account?.credentials.type === "api-key") {
        // A machine must not stop who calls it.
        return open(url, account.credentials, allowInsecure, { fewValues: true });
      }
      throw new UsageError(
        "--address needs an API key, since the machine's own port does not know the cloud's " +
          "sessions; sign in with --cloud, --key-id and --key, or leave --address out",
      );
    },
    advice: (error) => adviceOf(error, cloud, account?.again),
    [Symbol.asyncDispose]: () => Promise.resolve(connection.close()),
  };
}

/** How somebody is known to the cloud, and what is said when that counts no more. */
interface Account {
  readonly credentials: CloudCredentials | AccessToken;
  readonly headers: Readonly<Record<string, string>>;
  readonly again: Again;
}

interface Again {
  readonly problem: string;
  /** Options of `machine login`. */
  readonly options: string;
}

function accountOf(profile: KeyProfile | SessionProfile | Place): Account | undefined {
  if ("key" in profile) {
    const { key_id: entity, key } = profile;
    return {
      credentials: { type: "api-key", entity, payload: new Secret(key) },
      headers: { key_id: entity, key },
      again: { problem: "does not take the API key", options: "" },
    };
  }
  if (!("access_token" in profile)) return undefined;
  const { email, access_token: token } = profile;
  return {
    credentials: { type: "access-token", payload: new Secret(token) },
    headers: { authorization: `Bearer ${token}` },
    again: { problem: `does not take the session of ${email}`, options: ` --email ${email}` },
  };
}

function open(
  cloud: string,
  credentials: CloudCredentials | AccessToken | undefined,
  allowInsecure: boolean,
  options: Pick<CloudConnectionOptions, "fewValues"> = {},
): CloudConnection {
  try {
    return CloudConnection.open({
      appAddress: cloud,
      credentials,
      ...options,
      client: "cli",
      userAgent: `machine/${buildInfo.version}`,
      allowInsecure,
      log: getLogger("machine"),
    });
  } catch (error) {
    throw new UsageError(
      `${cloud} is plaintext, so that others could read the key or password in transit; use https://, or ` +
        "allow it with machine login --allow-insecure-creds",
      { cause: error },
    );
  }
}

/** What the caller can do where it is the connection that failed. */
function adviceOf(error: unknown, cloud: string, again?: Again): unknown {
  if (!(error instanceof ConnectError)) return error;
  const told = (text: string) => new Error(text, { cause: error });
  // A cloud that gives a reason was reached.
  if (reasonOf(error) && error.code !== Code.Unauthenticated) return error;
  switch (error.code) {
    case Code.Unauthenticated:
      if (!again) return error;
      return told(
        `the cloud at ${cloud} ${again.problem} (${error.rawMessage}); sign in again ` +
          `with machine login --cloud ${cloud}${again.options}`,
      );
    case Code.Unavailable:
    case Code.DeadlineExceeded: {
      const reason = connectionProblem(error);
      return told(
        `cannot reach a cloud at ${cloud} (${reason}); ` +
          (/certificate/i.test(reason)
            ? "this host does not trust its certificate: name a file with the authority's in " +
              "SSL_CERT_FILE, or check the address"
            : "check the address and that this host is on the network"),
      );
    }
    case Code.Unimplemented:
      // Every cloud has it: what every command asks first.
      return /AppService\/ListOrganizations|HTTP|404/.test(error.rawMessage)
        ? told(`what answers at ${cloud} is no cloud: ${error.rawMessage}; check the address`)
        : error;
    default:
      return error;
  }
}

/** What grpc-js says, without its own words around it. */
function connectionProblem({ rawMessage }: ConnectError): string {
  const [, last] = /Last error: (?:Error: )?(.*?)\.? *(?:Resolution note:.*)?$/.exec(rawMessage) ??
    [];
  return last ?? rawMessage;
}
