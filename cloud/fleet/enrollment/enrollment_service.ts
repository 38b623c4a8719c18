import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromMs, timestampMs } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError, type ServiceImpl } from "@connectrpc/connect";
import {
  type AttemptLimiter,
  TOO_MANY_ATTEMPTS,
} from "../../../shared/cloud/auth/attempt_limiter.ts";
import {
  EnrolledMachineSchema,
  type EnrollmentService,
  EnrollmentState,
  type EnrollmentTokenSchema,
  type EnrollRequest,
} from "../../../shared/gen/machine/cloud/v1/enrollment_pb.ts";
import { peerKey } from "../../../shared/rpc/server/peer.ts";
import type { Callers } from "../../accounts/access/callers.ts";
import { notFound, type Scope } from "../../accounts/access/scope.ts";
import type { SharedSecrets } from "../../accounts/access/secrets.ts";
import { hostPort } from "../../api/addresses/addresses.ts";
import { machineNameProblem, titleProblem } from "../../api/names/names.ts";
import { pageSize, pageToken, parsePageToken } from "../../api/paging/paging.ts";
import type { EnrollmentState as State } from "../../storage/database/enrollment_schema.ts";
import { alphanumeric } from "../../storage/keys/random.ts";
import { savedHow } from "../fragments/saved_how.ts";
import { createMachines } from "./create_machines.ts";
import {
  type DeviceFacts,
  type EnrollmentRow,
  Enrollments,
  type EnrollmentsOptions,
  hashOf,
  takenNames,
  type TokenRow,
  usedOf,
} from "./enrollments.ts";
import { DEFAULT_PATTERN, freeName, nameByPattern, patternProblem } from "./machine_names.ts";
import { readTemplate, requireUsable, type Template } from "./machine_template.ts";
import { refusal } from "../../../shared/rpc/reasons.ts";

export interface EnrollmentServiceOptions extends EnrollmentsOptions {
  readonly callers: Pick<Callers, "scope">;
  readonly secrets: SharedSecrets;
  readonly limiter: AttemptLimiter;
  readonly publicUrl: () => string;
}

const TOKEN_LENGTH = 40;
const DEFAULT_MACHINES = 100;
const MOST_MACHINES = 100_000;
const DAY_MS = 24 * 60 * 60_000;
const DEFAULT_DAYS = 30;
/** Tokens of one location. */
const MOST_TOKENS = 200;
/** How often a device that waits calls again. */
const PENDING_SECONDS = 30;
/** The longest host name of DNS. */
const LONGEST_FACT = 253;

const STATES: Readonly<Record<State, EnrollmentState>> = {
  pending: EnrollmentState.PENDING,
  enrolled: EnrollmentState.ENROLLED,
  refused: EnrollmentState.REFUSED,
};

/** `machine.cloud.v1.EnrollmentService`: how devices become machines. */
export function enrollmentService(
  options: EnrollmentServiceOptions,
): ServiceImpl<typeof EnrollmentService> {
  const { callers, queries, secrets, limiter, clock, random, publicUrl } = options;
  const enrollments = new Enrollments(options);
  /** What the programs of a machine sign in with. */
  const credentials = async (machineId: string) => {
    const part = await queries.selectFrom("parts")
      .innerJoin("machines", "machines.id", "parts.machine_id")
      .select(["parts.id", "machines.name"])
      .where("machine_id", "=", machineId).where("is_main", "=", 1).executeTakeFirstOrThrow();
    const [secret] = await secrets.ofPart(part.id);
    const { protocol } = new URL(publicUrl());
    return create(EnrolledMachineSchema, {
      appAddress: `${protocol}//${hostPort(publicUrl())}`,
      partId: part.id,
      partSecret: secret?.value ?? "",
      machineId,
      machineName: part.name,
    });
  };
  const ownToken = async (scope: Scope, id: string): Promise<TokenRow> => {
    const row = await queries.selectFrom("enrollment_tokens").selectAll().where("id", "=", id)
      .executeTakeFirst();
    if (!row || !await sees(scope, row.location_id)) throw notFound("enrollment token", id);
    await scope.location(row.location_id, "manage");
    return row;
  };
  const ownEnrollment = async (scope: Scope, id: string): Promise<EnrollmentRow> => {
    const row = await queries.selectFrom("enrollments").selectAll().where("id", "=", id)
      .executeTakeFirst();
    if (!row || !await sees(scope, row.location_id)) throw notFound("enrollment", id);
    await scope.location(row.location_id, "manage");
    return row;
  };
  return {
    async createEnrollmentToken(request, context) {
      const scope = await callers.scope(context);
      const location = await scope.location(request.locationId, "manage");
      const settings = readSettings(request, clock.now().getTime());
      const template = await readTemplate(scope, "template", request.template);
      await requireUsable(queries, location.org_id, template);
      const token = alphanumeric(random, TOKEN_LENGTH);
      const { actor } = scope.caller;
      const row: TokenRow = {
        ...{ id: random.uuid(), org_id: location.org_id, location_id: location.id },
        ...{ hash: hashOf("token", token), template: JSON.stringify(template), counter: 0 },
        ...settings,
        ...{ created_by_type: actor.type, created_by: actor.id },
      };
      await queries.transaction().execute(async (transaction) => {
        const others = await transaction.selectFrom("enrollment_tokens").select("id")
          .where("location_id", "=", location.id).execute();
        if (others.length >= MOST_TOKENS) {
          throw new ConnectError(
            `the location has ${MOST_TOKENS} enrollment tokens; delete old ones first`,
            Code.ResourceExhausted,
          );
        }
        await transaction.insertInto("enrollment_tokens").values(row).execute();
      });
      return { enrollmentToken: toToken(row, 0), token };
    },

    async listEnrollmentTokens({ locationId }, context) {
      const location = await (await callers.scope(context)).location(locationId, "manage");
      const rows = await queries.selectFrom("enrollment_tokens").selectAll()
        .where("location_id", "=", location.id).orderBy("created_at", "desc").orderBy("id")
        .execute();
      return {
        enrollmentTokens: await Promise.all(
          rows.map(async (row) => toToken(row, await usedOf(queries, row.id))),
        ),
      };
    },

    async deleteEnrollmentToken({ id }, context) {
      const row = await ownToken(await callers.scope(context), id);
      await queries.deleteFrom("enrollment_tokens").where("id", "=", row.id).execute();
      return {};
    },

    async enroll(request, context) {
      const facts = readFacts(request);
      const { address } = context.values.get(peerKey);
      const found = await limiter.attempt({ address }, () => enrollments.tokenOf(request.token));
      if (found.kind === "refused") {
        throw refusal("TOO_MANY_ATTEMPTS", {}, TOO_MANY_ATTEMPTS, Code.ResourceExhausted);
      }
      if (found.kind === "wrong") {
        throw new ConnectError(
          "this enrollment token is not known; it was deleted or mistyped",
          Code.Unauthenticated,
        );
      }
      const outcome = await enrollments.enroll(found.value, {
        ...{ key: request.deviceKey, facts, address },
      });
      return outcome.kind === "pending"
        ? { result: { case: "pendingSeconds", value: PENDING_SECONDS } }
        : { result: { case: "machine", value: await credentials(outcome.machineId) } };
    },

    async listEnrollments({ locationId, state, ...page }, context) {
      const location = await (await callers.scope(context)).location(locationId, "manage");
      const limit = pageSize(page.pageLimit, 100, 1_000);
      const below = parsePageToken(page.pageToken, 1)?.[0];
      let query = queries.selectFrom("enrollments")
        .leftJoin("machines", "machines.id", "enrollments.machine_id")
        .innerJoin("enrollment_tokens", "enrollment_tokens.id", "enrollments.token_id")
        .selectAll("enrollments")
        .select(["machines.name as machine_name", "enrollment_tokens.name_pattern"])
        .select("enrollment_tokens.counter")
        .where("enrollments.location_id", "=", location.id)
        .orderBy("enrollments.seq", "desc").limit(limit + 1);
      if (below !== undefined) query = query.where("enrollments.seq", "<", Number(below));
      const wanted = Object.entries(STATES).find(([, value]) => value === state)?.[0];
      if (wanted) query = query.where("enrollments.state", "=", wanted as State);
      const rows = await query.execute();
      const shown = rows.slice(0, limit);
      const taken = await takenNames(queries, location.id);
      return {
        enrollments: shown.map((row) => {
          const device = JSON.parse(row.facts) as DeviceFacts;
          const planned = nameByPattern(row.name_pattern, device, row.counter + 1);
          return {
            ...{ id: row.id, enrollmentTokenId: row.token_id, state: STATES[row.state], device },
            ...{ address: row.address, machineId: row.machine_id ?? "" },
            machineName: row.machine_name ??
              (row.state === "pending" ? freeName(planned, taken) : ""),
            createdAt: timestampFromMs(row.created_at),
            lastSeenAt: timestampFromMs(row.last_seen_at),
          };
        }),
        nextPageToken: rows.length > limit ? pageToken(shown.at(-1)?.seq ?? 0) : "",
      };
    },

    async approveEnrollment({ id, name }, context) {
      const row = await ownEnrollment(await callers.scope(context), id);
      if (name !== "") await requireFreeName(options, row.location_id, name);
      const made = await enrollments.approve(row, name);
      return { machineId: made.machineId, machineName: made.name };
    },

    async refuseEnrollment({ id }, context) {
      await enrollments.refuse(await ownEnrollment(await callers.scope(context), id));
      return {};
    },

    async createMachines({ locationId, machines }, context) {
      const scope = await callers.scope(context);
      const location = await scope.location(locationId, "manage");
      const made = await createMachines(options, scope, location, machines, savedHow(context));
      return {
        machines: await Promise.all(
          made.map(async ({ machineId, existed }) => ({
            machine: await credentials(machineId),
            existed,
          })),
        ),
      };
    },
  };
}

async function sees(scope: Scope, locationId: string): Promise<boolean> {
  const row = await scope.locations().select("locations.id").where("locations.id", "=", locationId)
    .executeTakeFirst();
  return row !== undefined;
}

function readSettings(
  request: {
    readonly name: string;
    readonly maxMachines: number;
    readonly needsApproval: boolean;
    readonly namePattern: string;
    readonly expiresAt?: Parameters<typeof timestampMs>[0] | undefined;
    readonly neverExpires: boolean;
  },
  nowMs: number,
) {
  const title = titleProblem(request.name);
  if (title) throw invalid(`name: ${title}`);
  const max = request.maxMachines || DEFAULT_MACHINES;
  if (max < 1 || max > MOST_MACHINES) {
    throw invalid(`max_machines: ${max} is not from 1 to ${MOST_MACHINES}`);
  }
  const pattern = request.namePattern || DEFAULT_PATTERN;
  const problem = patternProblem(pattern);
  if (problem) throw invalid(`name_pattern: ${JSON.stringify(pattern)}: ${problem}`);
  if (request.neverExpires && request.expiresAt) {
    throw invalid("expires_at: it sets the time, and never_expires means never; give one of them");
  }
  const expiresAt = request.expiresAt
    ? timestampMs(request.expiresAt)
    : nowMs + DEFAULT_DAYS * DAY_MS;
  if (expiresAt <= nowMs) throw invalid("expires_at: it is not in the future");
  return {
    name: request.name,
    max_machines: max,
    needs_approval: request.needsApproval ? 1 : 0,
    name_pattern: pattern,
    created_at: nowMs,
    expires_at: request.neverExpires ? null : expiresAt,
  };
}

/** Checks everything that an unknown peer sent before anything is kept of it. */
function readFacts({ token, deviceKey, device }: EnrollRequest): DeviceFacts {
  if (token === "" || token.length > 128) throw invalid("token: it is missing or too long");
  if (!/^[A-Za-z0-9_-]{32,128}$/.test(deviceKey)) {
    throw invalid("device_key: it must have 32 to 128 letters, digits, - and _");
  }
  const facts = {
    hostName: device?.hostName ?? "",
    serial: device?.serial ?? "",
    mac: device?.mac ?? "",
    platform: device?.platform ?? "",
    agentVersion: device?.agentVersion ?? "",
  };
  for (const [name, value] of Object.entries(facts)) {
    if (value.length > LONGEST_FACT || /\p{Cc}/u.test(value)) {
      throw invalid(`device.${name}: at most ${LONGEST_FACT} characters, no control characters`);
    }
  }
  return facts;
}

async function requireFreeName(
  { queries }: Pick<EnrollmentServiceOptions, "queries">,
  locationId: string,
  name: string,
): Promise<void> {
  const problem = machineNameProblem(name);
  if (problem) throw invalid(`name: ${JSON.stringify(name)} cannot be a name: ${problem}`);
  if (!(await takenNames(queries, locationId)).has(name)) return;
  throw refusal(
    "NAME_TAKEN",
    { name },
    `name: the location has another machine named ${JSON.stringify(name)}`,
    Code.AlreadyExists,
  );
}

function toToken(row: TokenRow, used: number): MessageInitShape<typeof EnrollmentTokenSchema> {
  const { fragments, tags } = JSON.parse(row.template) as Template;
  return {
    ...{ id: row.id, locationId: row.location_id, name: row.name, used },
    ...{ maxMachines: row.max_machines, needsApproval: row.needs_approval === 1 },
    namePattern: row.name_pattern,
    template: { fragmentIds: [...fragments], tags: [...tags] },
    createdAt: timestampFromMs(row.created_at),
    ...(row.expires_at === null ? {} : { expiresAt: timestampFromMs(row.expires_at) }),
  };
}

function invalid(message: string): ConnectError {
  return new ConnectError(message, Code.InvalidArgument);
}
