import assert from "node:assert/strict";
import { join } from "node:path";
import { parseFlags, UsageError } from "../../shared/base/flags/flags.ts";
import { kubernetesOf } from "./kubernetes_options.ts";
import { serveFlags } from "./serve_flags.ts";

const RUNNER = ["--training-runner", "kubernetes", "--public-url", "https://cloud.example"];

async function settings(args: string[], env: Record<string, string> = {}, mount?: string) {
  const { values } = parseFlags(args, { program: "serve", summary: "", flags: serveFlags });
  return await kubernetesOf(values, (name) => env[name], mount);
}

Deno.test("kubernetesOf() takes what a pod is given", async () => {
  const mount = await Deno.makeTempDir();
  try {
    const env = { KUBERNETES_SERVICE_HOST: "fd00::1", KUBERNETES_SERVICE_PORT: "6443" };
    await assert.rejects(settings(RUNNER, env, mount), /ca\.crt/);
    for (const [name, text] of [["ca.crt", "x"], ["token", "x"], ["namespace", "training\n"]]) {
      await Deno.writeTextFile(join(mount, name ?? ""), text ?? "");
    }
    const options = [
      ...["--kubernetes-gpus", "2", "--kubernetes-service-account", "trainer"],
      ...["--kubernetes-node-selector", "example.com/pool=gpu"],
      ...["--kubernetes-toleration", "nvidia.com/gpu:NoSchedule"],
      ...["--kubernetes-toleration", "pool=gpu"],
    ];
    assert.deepEqual(await settings([...RUNNER, ...options], env, mount), {
      access: {
        server: "https://[fd00::1]:6443",
        caFile: join(mount, "ca.crt"),
        tokenFile: join(mount, "token"),
        ...{ certFile: undefined, keyFile: undefined },
      },
      namespace: "training",
      resources: {
        ...{ cpus: 1, gpus: 2, serviceAccount: "trainer" },
        nodeSelector: { "example.com/pool": "gpu" },
        tolerations: [
          { key: "nvidia.com/gpu", operator: "Exists", effect: "NoSchedule" },
          { key: "pool", operator: "Equal", value: "gpu" },
        ],
      },
    });
  } finally {
    await Deno.remove(mount, { recursive: true });
  }
});

Deno.test("kubernetesOf() refuses what does not go together", async () => {
  const server = ["--kubernetes-server", "https://kube.example:6443"];
  for (
    const [args, text] of [
      [["--kubernetes-token-file", "x"], /--kubernetes-token-file needs --training-runner/],
      [["--kubernetes-node-selector", "a=b"], /--kubernetes-node-selector needs/],
      [RUNNER.slice(0, 2), /needs --public-url/],
      [RUNNER, /this is no pod of Kubernetes; name its API server/],
      [[...RUNNER, "--kubernetes-server", "http://kube.example"], /use https:\/\//],
      [[...RUNNER, "--kubernetes-server", "kube.example"], /is no address of an API server/],
      [[...RUNNER, "--kubernetes-server", "https://:pw@kube.example"], /is no address of/],
      [[...RUNNER, ...server, "--kubernetes-client-cert", "x"], /go together/],
      [[...RUNNER, ...server, "--kubernetes-namespace", "../x"], /no name of a namespace/],
      [[...RUNNER, ...server, "--kubernetes-node-selector", "gpu"], /write KEY=VALUE/],
      [[...RUNNER, ...server, "--kubernetes-toleration", "a:Never"], /is no taint/],
    ] as const
  ) {
    await assert.rejects(settings([...args]), (error) => {
      assert.ok(error instanceof UsageError, String(error));
      assert.match(error.message, text);
      return true;
    });
  }
  assert.equal(await settings([]), undefined);
  assert.equal((await settings([...RUNNER, ...server]))?.namespace, "default");
});
