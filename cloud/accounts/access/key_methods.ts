import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError, type ServiceImpl } from "@connectrpc/connect";
import {
  APIKeySchema,
  type APIKeyWithAuthorizations,
  APIKeyWithAuthorizationsSchema,
  type AppService,
  AuthorizationDetailsSchema,
  type AuthorizedPermissions,
} from "../../../shared/gen/viam/app/v1/app_pb.ts";
import { requireFew } from "../../api/lists/few.ts";
import { requireTitle } from "../../api/names/names.ts";
import { type ApiKey, type ApiKeys, requireNoMoreThanOwn } from "./api_keys.ts";
import type { Action } from "../../../shared/rights/roles.ts";
import { placeOf, RESOURCE_TYPES, toGrant } from "./authorizations.ts";
import type { Callers } from "./callers.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import { Openings } from "./openings.ts";
import type { MachineKeys } from "./machine_keys.ts";
import { machinePlace, notFound, type Scope } from "./scope.ts";
import { unlessRefused } from "./unless_refused.ts";
import { refusal } from "../../../shared/rpc/reasons.ts";

/** The calls of AppService about API keys and what they may do. */
export function keyMethods(
  { callers, queries, keys, machineKeys }: {
    readonly callers: Callers;
    readonly queries: Queries;
    readonly keys: ApiKeys;
    readonly machineKeys: MachineKeys;
  },
): Partial<ServiceImpl<typeof AppService>> {
  return {
    async getRobotAPIKeys({ robotId }, context) {
      const scope = await callers.scope(context);
      const machine = await scope.machine(robotId, "manage");
      // First the one that can be determined: clients connect with the first key of this answer.
      const own = await machineKeys.of(machine);
      const place = machinePlace(machine);
      // Keys of an organisation that a location is shared with are that one's own affair.
      const opening = (await (await Openings.of(queries, keys, place)).ofKeys())
        .filter(({ orgId }) => orgId === machine.org_id);
      const [first, others] = [
        opening.filter(({ id }) => id === own.id),
        opening.filter(({ id }) => id !== own.id),
      ];
      return {
        apiKeys: [
          ...first.map((key) => toMessage(key, own.key)),
          ...others.map((key) => toMessage(key)),
        ],
      };
    },

    async listKeys({ orgId }, context) {
      const scope = await callers.scope(context);
      await scope.organization(orgId, "manage");
      return { apiKeys: (await keys.list(orgId)).map((key) => toMessage(key)) };
    },

    async createKey({ authorizations, name }, context) {
      const scope = await callers.scope(context);
      requireFew("authorizations", authorizations);
      if (authorizations.length === 0) {
        throw new ConnectError("authorizations: a key needs at least one", Code.InvalidArgument);
      }
      requireTitle("name", name);
      const wanted = await Promise.all(authorizations.map((each) => toGrant(scope, each)));
      requireNoMoreThanOwn(scope.caller, wanted.map(({ place }) => place));
      const [orgId = "", ...others] = new Set(wanted.map(({ place }) => place.orgId));
      if (others.length > 0) {
        throw new ConnectError(
          "authorizations: they are in multiple orgs; a key belongs to one, so make one for each",
          Code.InvalidArgument,
        );
      }
      return await keys.create(orgId, name, wanted.map(({ grant }) => grant));
    },

    async deleteKey({ id }, context) {
      await keys.delete(await ownedKey(await callers.scope(context), keys, id));
      return {};
    },

    async renameKey({ id, name }, context) {
      const key = await ownedKey(await callers.scope(context), keys, id);
      requireTitle("name", name);
      await keys.rename(key, name);
      return { id, name };
    },

    async rotateKey({ id }, context) {
      return await keys.rotate(withGrants(await ownedKey(await callers.scope(context), keys, id)));
    },

    async createKeyFromExistingKeyAuthorizations({ id }, context) {
      const key = withGrants(await ownedKey(await callers.scope(context), keys, id));
      return await keys.create(key.orgId, key.name, key.grants);
    },

    async checkPermissions({ permissions }, context) {
      const scope = await callers.scope(context);
      requireFew("permissions", permissions);
      if (permissions.length === 0) {
        throw new ConnectError("permissions: there are none to check", Code.InvalidArgument);
      }
      return {
        authorizedPermissions: await Promise.all(
          permissions.map(async (asked) => ({
            resourceType: asked.resourceType,
            resourceId: asked.resourceId,
            permissions: await permitted(scope, asked),
          })),
        ),
      };
    },
  };
}

/** A key that the caller sees and has all rights of. */
async function ownedKey(scope: Scope, keys: ApiKeys, id: string): Promise<ApiKey> {
  const all = await Promise.all(scope.orgIds.map((orgId) => keys.list(orgId)));
  const key = all.flat().find((key) => key.id === id);
  // The key of a training job has no grants of its own: it is its organisation's.
  const places = key &&
    (key.grants.length === 0
      ? [{ orgId: key.orgId }]
      : await Promise.all(key.grants.map((grant) => placeOf(scope, grant))));
  if (!key || !places || places.some((place) => !scope.allows("see", place))) {
    throw notFound("API key", id);
  }
  requireNoMoreThanOwn(scope.caller, places);
  return key;
}

/** A copy of a training job's key would open nothing. */
function withGrants(key: ApiKey): ApiKey {
  if (key.grants.length > 0) return key;
  throw refusal(
    "KEY_OF_TRAINING",
    {},
    "this is the key of a training job and is revoked with it",
    Code.FailedPrecondition,
  );
}

/** Permissions that an operator has too; all others are an owner's. */
const OPERATOR_PERMISSIONS = new Set(["control_robot", "read_robot", "read_location"]);

async function permitted(scope: Scope, asked: AuthorizedPermissions): Promise<string[]> {
  const resource = RESOURCE_TYPES.find((type) => type === asked.resourceType);
  if (!resource) {
    throw new ConnectError(
      `resource_type: ${JSON.stringify(asked.resourceType)} is unknown; allowed: ` +
        RESOURCE_TYPES.join(", "),
      Code.InvalidArgument,
    );
  }
  const place = await unlessRefused(placeOf(scope, { resource, id: asked.resourceId }));
  if (!place) return [];
  return asked.permissions.filter((permission) => {
    const action: Action = OPERATOR_PERMISSIONS.has(permission) ? "see" : "manage";
    return scope.allows(action, place);
  });
}

/** @param value the key itself; that of most is not known any more, and its field stays empty */
function toMessage(key: ApiKey, value = ""): APIKeyWithAuthorizations {
  return create(APIKeyWithAuthorizationsSchema, {
    apiKey: create(APIKeySchema, {
      id: key.id,
      key: value,
      name: key.name,
      createdOn: timestampFromMs(key.createdAtMs),
    }),
    authorizations: key.grants.map((grant) =>
      create(AuthorizationDetailsSchema, {
        authorizationType: "role",
        authorizationId: `${grant.resource}_${grant.role}`,
        resourceType: grant.resource,
        resourceId: grant.id,
        orgId: key.orgId,
      })
    ),
  });
}
