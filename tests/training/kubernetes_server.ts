/** For tests: a stand-in for a Kubernetes cluster that checks what is created there. */
import { join } from "node:path";
import { FakeApiServer, NAMESPACE } from "../../cloud/training/kubernetes/fake_api_server.ts";
import { noPythonPackagesBecause } from "../../shared/test_tools/probes.ts";
import { ROOT } from "../../tools/programs.ts";
import { NEWEST, noSchemas, wrongWith } from "../build/kubernetes_schemas.ts";

/** Why there can be none; undefined: there can. */
export const noServer = noSchemas ?? await noPythonPackagesBecause();

export function startServer(): Promise<FakeApiServer> {
  const pip = Object.entries(Deno.env.toObject()).filter(([name]) => /^(PIP|SSL)_/.test(name));
  return FakeApiServer.start({
    check: (object) => wrongWith(JSON.stringify(object), [NEWEST]),
    variables: {
      ...Object.fromEntries(pip),
      PIP_CACHE_DIR: join(ROOT, ".tools", "training", "pip"),
    },
  });
}

/** Options of `serve`. */
export function options({ url, caFile, tokenFile }: FakeApiServer): string[] {
  return [
    ...["--training-runner", "kubernetes", "--kubernetes-server", url],
    ...["--kubernetes-ca-file", caFile, "--kubernetes-token-file", tokenFile],
    ...["--kubernetes-namespace", NAMESPACE],
  ];
}

/** Names of what is there. */
export function left({ cluster: { objects: { jobs, secrets, pods } } }: FakeApiServer): string[] {
  return [...jobs.keys(), ...secrets.keys(), ...pods.keys()];
}
