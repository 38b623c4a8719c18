import { type DescService } from "@bufbuild/protobuf";
import { Code, ConnectError, type ServiceImpl } from "@connectrpc/connect";
import { BuildService } from "../../shared/gen/viam/app/build/v1/build_pb.ts";
import { CloudSLAMService } from "../../shared/gen/viam/app/cloudslam/v1/cloud_slam_pb.ts";
import { BillingService } from "../../shared/gen/viam/app/v1/billing_pb.ts";
import { EndUserService } from "../../shared/gen/viam/app/v1/end_user_pb.ts";
import type { RpcRouter } from "../../shared/rpc/server/router.ts";
import { NO_BILLING } from "./absent_calls.ts";

const NO_BUILDS = "this cloud builds no modules: build on your own computer or in your CI, once " +
  "for each platform, and publish with `machine-cloud module upload`";
const NO_MAPS = "this cloud makes no maps: run a SLAM service as a module on the machine, or " +
  "download the captured data with `machine-cloud data export`";

const NO_APPLICATIONS =
  "this cloud signs in no people for applications of others by this service; " +
  "give a program a key with CreateKey";

/** Services of which nothing here acts on any call, each with what to do instead. */
export const REFUSED_SERVICES: readonly (readonly [DescService, string])[] = [
  [BillingService, NO_BILLING],
  [BuildService, NO_BUILDS],
  [CloudSLAMService, NO_MAPS],
];

/** A cloud of one's own has no terms of use: everybody has agreed. */
const endUserService: ServiceImpl<typeof EndUserService> = {
  isLegalAccepted: () => ({ acceptedLegal: true, everAcceptedLegal: true }),
  acceptLegal: () => ({}),
  registerAuthApplication: () => refuse(NO_APPLICATIONS),
  updateAuthApplication: () => refuse(NO_APPLICATIONS),
  getAuthApplication: () => refuse(NO_APPLICATIONS),
};

/** Serves what clients of the family may request and this cloud has no use for. */
export function mountRefused(router: RpcRouter): void {
  for (const [service, sentence] of REFUSED_SERVICES) {
    const calls = service.methods.map(({ localName }) => [localName, () => refuse(sentence)]);
    router.service(service, Object.fromEntries(calls) as Partial<ServiceImpl<DescService>>);
  }
  router.service(EndUserService, endUserService);
}

function refuse(sentence: string): never {
  throw new ConnectError(sentence, Code.Unimplemented);
}
