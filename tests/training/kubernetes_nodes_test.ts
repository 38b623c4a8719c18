// Two nodes of one cloud train on Kubernetes, a stand-in for it: `make test-training` runs it and
// `make test` does not.
import { ignoreBecause, ignoreWithout } from "../../shared/test_tools/skips.ts";
import { left, noServer, options, startServer } from "./kubernetes_server.ts";
import { Trainers, tryNodes } from "./trainers.ts";

const ignore = ignoreWithout(import.meta.url, "postgresql") ||
  ignoreBecause(import.meta.url, noServer);

Deno.test({ name: "two nodes train on a Kubernetes cluster", ignore }, async (test) => {
  await using server = await startServer();
  await using it = await Trainers.open(options(server));
  await tryNodes(test, it, () => Promise.resolve(left(server).length === 0));
});
