import type { DescMethod, JsonValue } from "@bufbuild/protobuf";
import { RobotService } from "../../../shared/gen/viam/robot/v1/robot_pb.ts";
import { openApi } from "../../../shared/openapi/openapi.ts";
import type { RpcRouter } from "../../../shared/rpc/server/router.ts";
import { nameField } from "../../modules/forwarding/addressee.ts";
import type { ServedApi } from "../apis/served_api.ts";

const DESCRIPTION =
  "Every unary call of the machine's resources as JSON. With an API key as user " +
  "and password (curl -u KEY_ID:KEY), as the headers key-id and key, or with an access token.";

export interface GatewayDocumentOptions {
  /** Of the resources; the first of a subtype has the short name. */
  readonly apis: readonly ServedApi[];
  readonly version: string;
  readonly url: string;
}

/** The gateway as an OpenAPI document. */
export function gatewayDocument(
  router: RpcRouter,
  { apis: served, version, url }: GatewayDocumentOptions,
): JsonValue {
  const apis = new Map<string, string>(
    served.map(({ api, service }) => [service.typeName, api]),
  );
  const pathOf = ({ parent, name, input }: DescMethod) => {
    if (parent.typeName === RobotService.typeName) {
      return { path: `/api/robot/${name}`, parameters: [], leaveOut: [] };
    }
    const api = apis.get(parent.typeName);
    const named = nameField(input)?.jsonName;
    if (api === undefined || named === undefined) return;
    const [, , subtype = api] = api.split(":");
    // A component and a service of the same subtype: the first has the short name.
    const isFirst = served.find((each) => each.api.endsWith(`:${subtype}`))?.api === api;
    const path = `/api/${isFirst ? subtype : api}/{name}/${name}`;
    return { path, parameters: ["name"], leaveOut: [named] };
  };
  const services = [...router.services].filter(({ service }) =>
    service.typeName === RobotService.typeName || apis.has(service.typeName)
  );
  return openApi({
    ...{ services, title: "machine-server", description: DESCRIPTION, version, url, pathOf },
    security: {
      key: { type: "http", scheme: "basic" },
      token: { type: "http", scheme: "bearer" },
    },
  }) as JsonValue;
}
