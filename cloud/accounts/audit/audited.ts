import type { DescField, DescMessage, DescMethod, DescService, Message } from "@bufbuild/protobuf";
import { reflect } from "@bufbuild/protobuf/reflect";
import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import type { Clock } from "../../../shared/base/time/clock.ts";
import { RpcRouter, type ServiceOptions } from "../../../shared/rpc/server/router.ts";
import { type CallRecord, insertRecord, runRecorded } from "../../storage/audit/call_record.ts";
import { toCallFailure } from "../../storage/database/call_failures.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import { originOf } from "../sessions/person_calls.ts";

/** Services that machines call all the time; what they do is in logs and status. */
const OF_MACHINES = new Set([
  "machine.cloud.v1.MachineService",
  "proto.rpc.v1.AuthService",
  "proto.rpc.webrtc.v1.SignalingService",
  "viam.app.agent.v1.AgentDeviceService",
  "viam.app.datasync.v1.DataSyncService",
  "viam.app.v1.RobotService",
]);
/** How the names of calls begin that change nothing. */
const READS =
  /^(Binary|Check|Export|Get|List|Location|Read|Resolve|Search|Tabular|Tail|Watch)(?!.*Secret)/;

/** Others that change nothing, and the report that an agent repeats. */
const READ_TOO = new Set([
  "BoundingBoxLabelsByFilter",
  "CompareRevisions",
  "IsLegalAccepted",
  "OrganizationGetLogo",
  "OrganizationGetSupportEmail",
  "PlotTabularData",
  "PreviewTrigger",
  "ReportAgentStatus",
  "SequencesByDatasetID",
  "TagsByFilter",
]);

/** Reads that make what they return where there is none yet; they are recorded where they do. */
const MAKES = new Set(["GetRobotAPIKeys"]);

/** Whether the audit log says of a call that it was made. */
export function isRecorded(method: DescMethod): boolean {
  return !OF_MACHINES.has(method.parent.typeName) && !READS.test(method.name) &&
    !READ_TOO.has(method.name) &&
    (method.methodKind === "unary" || method.methodKind === "client_streaming");
}

type Handler = (request: unknown, context: HandlerContext) => unknown;

/** A router whose calls that change something are in the audit log. */
export class AuditedRouter extends RpcRouter {
  constructor(private readonly deps: { readonly queries: Queries; readonly clock: Clock }) {
    super();
  }

  override service<S extends DescService>(
    service: S,
    implementation: Partial<ServiceImpl<S>> | (() => Partial<ServiceImpl<S>>),
    options: ServiceOptions = {},
  ): this {
    const audited = () => {
      const made = typeof implementation === "function" ? implementation() : implementation;
      const handlers = made as Record<string, Handler | undefined>;
      const recorded = service.methods.flatMap((method) => {
        const handler = handlers[method.localName];
        return handler && (isRecorded(method) || MAKES.has(method.name))
          ? [[method.localName, this.#recorded(method, handler.bind(made))]]
          : [];
      });
      return { ...made, ...Object.fromEntries(recorded) } as Partial<ServiceImpl<S>>;
    };
    return super.service(service, audited, options);
  }

  #recorded(method: DescMethod, handler: Handler): Handler {
    return async (request, context) => {
      const record: CallRecord = {
        orgId: "",
        actorType: "",
        actor: "",
        action: `${method.parent.typeName}/${method.name}`,
        target: method.methodKind === "unary" ? targetOf(method.input, request as Message) : "{}",
        at: this.deps.clock.now(),
        ...originOf(context),
        isWritten: false,
      };
      const answer = await runRecorded(record, () => handler(request, context));
      // Nobody was found out to have made it: nothing was done.
      if (!record.isWritten && record.actor !== "" && !MAKES.has(method.name)) {
        await insertRecord(record).execute(this.deps.queries).catch((error) => {
          throw toCallFailure(error);
        });
      }
      return answer;
    };
  }
}

/** Fields that say what a call is about. Everything else may hold a secret or be long. */
const TELLING =
  /(^|_)(id|ids|name|names|email|namespace|version|channel|visibility|action|type|types)$/;
const LONGEST_VALUE = 200;
const MOST_VALUES = 20;
const DEEPEST = 2;

/** Ids and names in a request, as a JSON object. */
function targetOf(schema: DescMessage, message: Message): string {
  return JSON.stringify(told(schema, message, 0));
}

function told(schema: DescMessage, message: Message, depth: number): Record<string, unknown> {
  const reflected = reflect(schema, message);
  const pairs = reflected.fields.flatMap((field): [string, unknown][] => {
    if (!reflected.isSet(field)) return [];
    const value = (message as unknown as Record<string, unknown>)[field.localName];
    if (field.fieldKind === "message" && depth < DEEPEST) {
      if (field.message.typeName.startsWith("google.")) return [];
      const inner = told(field.message, reflected.get(field).message, depth + 1);
      return Object.keys(inner).length > 0 ? [[field.name, inner]] : [];
    }
    if (!isTelling(field)) return [];
    if (typeof value === "string") return [[field.name, value.slice(0, LONGEST_VALUE)]];
    if (!Array.isArray(value)) return [];
    return [[
      field.name,
      value.slice(0, MOST_VALUES).map((each) => String(each).slice(0, LONGEST_VALUE)),
    ]];
  });
  return Object.fromEntries(pairs);
}

function isTelling(field: DescField): boolean {
  return TELLING.test(field.name) && (field.fieldKind === "scalar" ||
    (field.fieldKind === "list" && field.listKind === "scalar"));
}
