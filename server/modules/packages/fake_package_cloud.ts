/** For tests: a cloud that knows where they are. */
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import {
  type GetPackageRequest,
  PackageService,
} from "../../../shared/gen/viam/app/packages/v1/packages_pb.ts";
import { createInProcessTransport } from "../../../shared/rpc/server/in_process.ts";
import { RpcRouter } from "../../../shared/rpc/server/router.ts";

/** A cloud that knows packages by "org/name version". */
export class FakePackageCloud {
  readonly asked: GetPackageRequest[] = [];
  /** Where each package is; `version` is the answer to "latest". */
  readonly packages = new Map<string, { url: string; checksum?: string; version?: string }>();
  /** The error of every question, while it is set. */
  failure: Code | undefined;

  readonly client = createClient(PackageService, createInProcessTransport(this.#router()));

  #router(): RpcRouter {
    const router = new RpcRouter();
    router.service(PackageService, {
      getPackage: (request) => {
        this.asked.push(request);
        if (this.failure !== undefined) throw new ConnectError("not now", this.failure);
        const found = this.packages.get(`${request.id} ${request.version}`);
        if (!found) throw new ConnectError(`no package ${request.id}`, Code.NotFound);
        const { url, checksum = "", version = request.version } = found;
        return { package: { id: request.id, url, checksum, info: { version } } };
      },
    });
    return router;
  }
}
