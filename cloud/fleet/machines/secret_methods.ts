import type { ServiceImpl } from "@connectrpc/connect";
import type { AppService } from "../../../shared/gen/viam/app/v1/app_pb.ts";
import type { SecretChanges } from "../../accounts/access/secret_changes.ts";
import { toLocationAuth } from "../../accounts/organizations/location_messages.ts";
import { type MachineMethodsOptions, robotPart } from "./machine_methods.ts";

export interface SecretMethodsOptions extends MachineMethodsOptions {
  readonly secretChanges: SecretChanges;
}

/** The calls of AppService that replace secrets of parts and locations; two count meanwhile. */
export function secretMethods(
  options: SecretMethodsOptions,
): Partial<ServiceImpl<typeof AppService>> {
  const { callers, secrets, secretChanges } = options;
  return {
    async createRobotPartSecret({ partId }, context) {
      const scope = await callers.scope(context);
      const part = await scope.part(partId, "manage");
      await secretChanges.createForPart(part);
      return { part: await robotPart(options, scope, part) };
    },

    async deleteRobotPartSecret({ partId, secretId }, context) {
      const part = await (await callers.scope(context)).part(partId, "manage");
      await secretChanges.deleteOfPart(part, secretId);
      return {};
    },

    async createLocationSecret({ locationId }, context) {
      const location = await (await callers.scope(context)).location(locationId, "manage");
      await secretChanges.createForLocation(location);
      return { auth: await toLocationAuth(secrets, location.id) };
    },

    async deleteLocationSecret({ locationId, secretId }, context) {
      const location = await (await callers.scope(context)).location(locationId, "manage");
      await secretChanges.deleteOfLocation(location, secretId);
      return {};
    },

    async locationAuth({ locationId }, context) {
      const location = await (await callers.scope(context)).location(locationId, "manage");
      return { auth: await toLocationAuth(secrets, location.id) };
    },
  };
}
