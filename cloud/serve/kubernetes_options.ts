import { join } from "node:path";
import { toFileError } from "../../shared/base/files/fs_error.ts";
import { UsageError } from "../../shared/base/flags/flags.ts";
import { isLoopback } from "../api/addresses/addresses.ts";
import type { ApiAccessOptions } from "../training/kubernetes/api_access.ts";
import type { Toleration } from "../training/kubernetes/job_objects.ts";
import type { ServeFlags } from "./serve_flags.ts";
import type { KubernetesSettings } from "./training_settings.ts";

/** Where Kubernetes puts the credentials of a pod. */
const MOUNT = "/var/run/secrets/kubernetes.io/serviceaccount";
const OPTION = "--training-runner kubernetes";
const OWN = /^kubernetes-/;
const NAME = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;
const ACCOUNT = /^[a-z0-9]([-.a-z0-9]{0,251}[a-z0-9])?$/;
const LABEL_KEY =
  "(?:[a-z0-9](?:[-.a-z0-9]{0,251}[a-z0-9])?/)?[A-Za-z0-9](?:[-._A-Za-z0-9]{0,61}[A-Za-z0-9])?";
const LABEL_VALUE = "(?:[A-Za-z0-9](?:[-._A-Za-z0-9]{0,61}[A-Za-z0-9])?)?";
const EFFECTS = "NoSchedule|PreferNoSchedule|NoExecute";
const SELECTOR = new RegExp(`^(${LABEL_KEY})=(${LABEL_VALUE})$`);
const TOLERATION = new RegExp(`^(${LABEL_KEY})(?:=(${LABEL_VALUE}))?(?::(${EFFECTS}))?$`);

/**
 * The Kubernetes cluster that the command line names; undefined: scripts run elsewhere.
 *
 * @param mount folder of the credentials of this pod
 * @throws {UsageError} for what does not go together; {FileError} for a file that cannot be read
 */
export async function kubernetesOf(
  flags: ServeFlags,
  env: (name: string) => string | undefined,
  mount = MOUNT,
): Promise<KubernetesSettings | undefined> {
  if (flags["training-runner"] !== "kubernetes") {
    const given = Object.entries(flags).find(([name, value]) =>
      OWN.test(name) && typeof value !== "number" && value !== undefined &&
      (!Array.isArray(value) || value.length > 0)
    );
    if (!given) return undefined;
    throw new UsageError(`--${given[0]} needs ${OPTION}`);
  }
  if (flags["public-url"] === undefined) {
    throw new UsageError(`${OPTION} needs --public-url, where its pods reach this cloud`);
  }
  const access = accessOf(flags, env, mount);
  for (const path of [access.caFile, access.tokenFile, access.certFile, access.keyFile]) {
    if (path !== undefined) await checkReadable(path);
  }
  const account = flags["kubernetes-service-account"];
  if (account !== undefined && !ACCOUNT.test(account)) {
    throw new UsageError(`--kubernetes-service-account: ${JSON.stringify(account)} is no name`);
  }
  return {
    access,
    namespace: await namespaceOf(flags, mount),
    resources: {
      cpus: flags["kubernetes-cpus"],
      gpus: flags["kubernetes-gpus"],
      serviceAccount: account,
      nodeSelector: Object.fromEntries(flags["kubernetes-node-selector"].map(labelOf)),
      tolerations: flags["kubernetes-toleration"].map(tolerationOf),
    },
  };
}

function accessOf(
  flags: ServeFlags,
  env: (name: string) => string | undefined,
  mount: string,
): ApiAccessOptions {
  const server = flags["kubernetes-server"];
  const caFile = flags["kubernetes-ca-file"];
  const tokenFile = flags["kubernetes-token-file"];
  const certFile = flags["kubernetes-client-cert"];
  const keyFile = flags["kubernetes-client-key"];
  if ((certFile === undefined) !== (keyFile === undefined)) {
    throw new UsageError("--kubernetes-client-cert and --kubernetes-client-key go together");
  }
  if (server === undefined) {
    const host = env("KUBERNETES_SERVICE_HOST");
    if (!host) {
      throw new UsageError(
        `${OPTION}: this is no pod of Kubernetes; name its API server with --kubernetes-server`,
      );
    }
    const port = env("KUBERNETES_SERVICE_PORT") || "443";
    return {
      server: `https://${host.includes(":") ? `[${host}]` : host}:${port}`,
      caFile: caFile ?? join(mount, "ca.crt"),
      tokenFile: tokenFile ?? (certFile === undefined ? join(mount, "token") : undefined),
      ...{ certFile, keyFile },
    };
  }
  const url = URL.parse(server);
  if (
    !url || !/^https?:$/.test(url.protocol) || url.username || url.password || url.search ||
    url.hash
  ) {
    throw new UsageError(
      `--kubernetes-server: ${JSON.stringify(server)} is no address of an API server; write it ` +
        "as https://HOST:6443",
    );
  }
  if (url.protocol === "http:" && !isLoopback({ hostname: url.hostname, port: 0 })) {
    throw new UsageError(
      "--kubernetes-server: use https://, or http:// on this host (`kubectl proxy`)",
    );
  }
  return { server: url.href, caFile, tokenFile, certFile, keyFile };
}

async function namespaceOf(flags: ServeFlags, mount: string): Promise<string> {
  let namespace = flags["kubernetes-namespace"];
  if (namespace === undefined && flags["kubernetes-server"] === undefined) {
    const path = join(mount, "namespace");
    namespace = (await Deno.readTextFile(path).catch((error) => {
      throw toFileError(error, "read the namespace of this pod in", path);
    })).trim();
  }
  namespace ??= "default";
  if (NAME.test(namespace)) return namespace;
  throw new UsageError(
    `--kubernetes-namespace: ${JSON.stringify(namespace)} is no name of a namespace`,
  );
}

function labelOf(text: string): [string, string] {
  const [, key, value] = SELECTOR.exec(text) ?? [];
  if (key !== undefined && value !== undefined) return [key, value];
  throw new UsageError(
    `--kubernetes-node-selector: ${JSON.stringify(text)} is no label; write KEY=VALUE`,
  );
}

function tolerationOf(text: string): Toleration {
  const [, key, value, effect] = TOLERATION.exec(text) ?? [];
  if (key === undefined) {
    throw new UsageError(
      `--kubernetes-toleration: ${JSON.stringify(text)} is no taint; write ` +
        "KEY[=VALUE][:NoSchedule|PreferNoSchedule|NoExecute]",
    );
  }
  return {
    key,
    ...(value === undefined ? { operator: "Exists" } : { operator: "Equal", value }),
    ...(effect === undefined ? {} : { effect }),
  };
}

async function checkReadable(path: string): Promise<void> {
  await Deno.readTextFile(path).catch((error) => {
    throw toFileError(error, "read the credentials for Kubernetes in", path);
  });
}
