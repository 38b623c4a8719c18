import assert from "node:assert/strict";
import type { DescService } from "@bufbuild/protobuf";
import { SensorService } from "../../shared/gen/viam/component/sensor/v1/sensor_pb.ts";
import { RobotService } from "../../shared/gen/viam/robot/v1/robot_pb.ts";
import { memoryLogger } from "../../shared/log/memory_logger_testing.ts";
import { createInProcessTransport } from "../../shared/rpc/server/in_process.ts";
import { mountReflection } from "../../shared/rpc/server/reflection.ts";
import { RpcRouter } from "../../shared/rpc/server/router.ts";
import { learnApis } from "./remote_apis.ts";
import type { RemoteLink } from "./remote_link.ts";
import type { RemoteList } from "./remote_lists.ts";

/** A remote that has other APIs each time, each described by a service that is there. */
class ChangingRemote {
  apis: string[] = [];
  readonly learned = new Map<string, DescService>();
  adds = 0;
  readonly #brought = new Set<string>();
  readonly #link: RemoteLink;

  constructor(private readonly times = 1) {
    const router = new RpcRouter().service(SensorService, {}).service(RobotService, {
      resourceRPCSubtypes: () => ({
        resourceRpcSubtypes: this.apis.flatMap((api) => {
          const [namespace, type, subtype] = api.split(":");
          const one = {
            subtype: { namespace: namespace!, type: type!, subtype: subtype!, name: "" },
            protoService: SensorService.typeName,
          };
          return Array.from({ length: this.times }, () => one);
        }),
      }),
    });
    mountReflection(router);
    this.#link = { channel: { transport: createInProcessTransport(router) } } as RemoteLink;
  }

  async list(apis: string[]): Promise<void> {
    this.apis = apis;
    const resources = apis.map((api) => ({ api, theirs: "x", ours: "r:x", problem: undefined }));
    await learnApis(this.#link, { resources } as unknown as RemoteList, {
      apis: {
        serviceOf: (api) => this.learned.get(api),
        add: (service, api) => (this.adds++, this.learned.set(api, service)),
      },
      brought: this.#brought,
      log: memoryLogger(),
      signal: new AbortController().signal,
    });
  }
}

Deno.test("learnApis() learns the APIs of a remote, each once", async () => {
  const remote = new ChangingRemote(3);
  await remote.list(["acme:component:a", "acme:component:b"]);
  assert.deepEqual([...remote.learned.keys()], ["acme:component:a", "acme:component:b"]);
  assert.equal(remote.adds, 2);
});

Deno.test("learnApis() keeps 20 APIs of a remote that brings others without end", async () => {
  const remote = new ChangingRemote();
  for (let at = 0; at < 10; at++) {
    await remote.list(Array.from({ length: 5 }, (_, one) => `acme:component:c${at}-${one}`));
  }
  assert.equal(remote.learned.size, 20);
});
