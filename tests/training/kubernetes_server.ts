/** For tests: a stand-in for a Kubernetes cluster that checks what is created there. */
import { join } from "node:path";
import { NAMESPACE, TestApiServer } from "../../cloud/training/kubernetes/api_server_testing.ts";
import { noPythonPackagesBecause } from "../../shared/test_tools/probes.ts";
import { ROOT } from "../../tools/programs.ts";
import { NEWEST, noSchemas, wrongWith } from "../build/kubernetes_schemas.ts";

/** Why there can be none; undefined: there can. */
export const noServer = noSchemas ?? await noPythonPackagesBecause();

export function startServer(): Promise<TestApiServer> {
  const pip = Object.entries(Deno.env.toObject()).filter(([name]) => /^(PIP|SSL)_/.test(name));
  return TestApiServer.start({
    check: (object) => wrongWith(JSON.stringify(object), [NEWEST]),
    variables: {
      ...Object.fromEntries(pip),
      PIP_CACHE_DIR: join(ROOT, ".tools", "training", "pip"),
    },
  });
}

/** Options of `serve`. */
export function options({ url, caFile, tokenFile }: TestApiServer): string[] {
  return [
    ...["--training-runner", "kubernetes", "--kubernetes-server", url],
    ...["--kubernetes-ca-file", caFile, "--kubernetes-token-file", tokenFile],
    ...["--kubernetes-namespace", NAMESPACE],
  ];
}

/** Names of what is there. */
export function left({ cluster: { objects: { jobs, secrets, pods } } }: TestApiServer): string[] {
  return [...jobs.keys(), ...secrets.keys(), ...pods.keys()];
}
