/** WebRTC connections that the cloud takes in the place of devices, and their calls. */
import { Code, ConnectError } from "@connectrpc/connect";
import { toError } from "../../../shared/base/errors/to_error.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import { machineRight } from "../../../shared/rights/machine_methods.ts";
import { type Role, roleAllows } from "../../../shared/rights/roles.ts";
import { RELAYED_HEADER } from "../../../shared/rpc/data_channel/relayed_header.ts";
import { serveDataChannel } from "../../../shared/rpc/data_channel/server.ts";
import { RequestBudgets, type RequestLimits } from "../../../shared/rpc/server/request_budget.ts";
import type { Call, Interceptor } from "../../../shared/rpc/server/interceptor.ts";
import { logRequests } from "../../../shared/rpc/server/request_log.ts";
import type { RtcPeer } from "../../../shared/rtc/webrtc/peer.ts";
import type { Callers } from "../../accounts/access/callers.ts";
import { insertRecord } from "../../storage/audit/call_record.ts";
import { callFailure } from "../../storage/database/call_failures.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import { type DeviceCalls, MOST_REQUEST_BYTES } from "./device_calls.ts";
import { deviceRouter } from "./device_router.ts";
import type { Actor } from "../../accounts/access/caller.ts";
import {
  type CallerFacts,
  type CallerLookup,
  ownerOf,
  type ReachedPart,
} from "./reaching_caller.ts";
import { refusal } from "../../../shared/rpc/reasons.ts";

/** Connections of one caller to devices. */
export const MOST_OF_CALLER = 16;
/** Characters of a session's id that are passed on; a device's own have 32. */
const MOST_SESSION_ID = 64;

const MIB = 1024 * 1024;
/** What requests may hold that have come in part. */
const REQUESTS: RequestLimits = { perConnection: MIB, perAddress: 8 * MIB, total: 64 * MIB };

export interface RelayedConnectionsOptions {
  readonly queries: Queries;
  readonly callers: Callers;
  readonly calls: DeviceCalls;
  readonly lookup: CallerLookup;
  readonly clock: Clock;
  readonly log: Logger;
}

interface Relayed {
  readonly part: ReachedPart;
  readonly facts: CallerFacts;
  readonly actor: Actor;
  readonly peer: RtcPeer;
  role: Role;
}

export class RelayedConnections {
  readonly #open = new Set<Relayed>();
  readonly #budgets = new RequestBudgets({ letIn: REQUESTS });
  readonly #stop = new AbortController();
  readonly #requests: Interceptor;

  constructor(private readonly options: RelayedConnectionsOptions) {
    this.#requests = logRequests(options.log);
  }

  /** Connections at the moment. */
  get count(): number {
    return this.#open.size;
  }

  /** @throws {ConnectError} RESOURCE_EXHAUSTED when the caller has enough connections. */
  admit(facts: CallerFacts): void {
    const owner = ownerOf(facts);
    const own = [...this.#open].filter((each) => ownerOf(each.facts) === owner);
    if (own.length < MOST_OF_CALLER) return;
    throw refusal(
      "LIMIT_REACHED",
      { most: MOST_OF_CALLER },
      `you have ${MOST_OF_CALLER} connections to devices through this cloud; close one`,
      Code.ResourceExhausted,
    );
  }

  /** Serves a connection that is open, until it ends or its caller may not have it any more. */
  async accept(peer: RtcPeer, part: ReachedPart, facts: CallerFacts): Promise<void> {
    const { callers, lookup, log } = this.options;
    try {
      const relayed: Relayed = { part, facts, peer, ...await lookup.look(facts) };
      this.admit(facts);
      this.#open.add(relayed);
      const unwatch = callers.watch(
        () => this.#look(relayed),
        (error) => this.#end(relayed, error),
      );
      void peer.closed.then(() => {
        unwatch();
        this.#open.delete(relayed);
      });
      await this.#record(relayed, "proto.rpc.webrtc.v1.SignalingService/Call");
      this.#serve(relayed);
      log.info("somebody is connected to a device through the cloud", fieldsOf(relayed));
    } catch (error) {
      log.info(`a connection to a device is refused: ${toError(error).message}`, {
        part: part.id,
        caller: facts.identity.entity,
      });
      await peer.close();
    }
  }

  /** Looks whether those who are connected may still be, such as people whose session is over. */
  async sweep(): Promise<void> {
    for (const relayed of [...this.#open]) {
      await this.#look(relayed).catch((error) => this.#end(relayed, callFailure(error)));
    }
  }

  async close(): Promise<void> {
    this.#stop.abort(new Error("the cloud is shutting down"));
    await Promise.all([...this.#open].map(({ peer }) => peer.close()));
  }

  #serve(relayed: Relayed): void {
    const { calls, log } = this.options;
    const { peer, part, actor, facts: { address } } = relayed;
    const router = deviceRouter({
      unary(call, request) {
        const { path, cancelSignal, responseHeader } = call;
        responseHeader.set(RELAYED_HEADER, "cloud");
        const isOwner = relayed.role === "owner";
        const sessionId = String(call.forwardedHeaders()["viam-sid"] ?? "").slice(
          0,
          MOST_SESSION_ID,
        );
        const passedOn = { method: path, request, caller: actor.id, isOwner, sessionId };
        return calls.call(part.id, passedOn, cancelSignal);
      },
      // deno-lint-ignore require-yield
      async *stream() {
        throw new ConnectError("devices have no streams", Code.Unimplemented);
      },
    });
    serveDataChannel(peer.channel, {
      router,
      interceptors: [this.#requests, { before: (call) => this.#before(relayed, call) }],
      peer: { address, port: 0, transport: "webrtc", local: false },
      budgets: this.#budgets,
      report: (error, path, id) =>
        log.error(`${path} failed: ${toError(error).message}`, {
          event: "call_failed",
          id,
          stack: toError(error).stack,
        }),
      signal: this.#stop.signal,
    });
  }

  /** @throws {ConnectError} when the caller may not make the call */
  async #before(relayed: Relayed, call: Call): Promise<void> {
    call.limitMessages?.(MOST_REQUEST_BYTES);
    const { facts, role } = relayed;
    const [, service = "", method = ""] = call.path.split("/");
    const right = machineRight(service, method);
    if (right !== "open" && !roleAllows(role, right)) {
      throw refusal(
        "OWNER_NEEDED",
        {},
        `${method} needs the role owner; you are an operator of this machine`,
        Code.PermissionDenied,
      );
    }
    await this.options.lookup.stands(facts).catch((error) => {
      this.#end(relayed, callFailure(error));
      throw error;
    });
    if (right === "manage") await this.#record(relayed, `${service}/${method}`);
  }

  async #look(relayed: Relayed): Promise<void> {
    relayed.role = (await this.options.lookup.look(relayed.facts)).role;
  }

  #end(relayed: Relayed, { rawMessage }: ConnectError): void {
    this.options.log.info(`a connection to a device is closed: ${rawMessage}`, fieldsOf(relayed));
    void relayed.peer.close();
  }

  /** What the audit log says of a caller, and of calls that only owners may make. */
  async #record({ part, actor, facts }: Relayed, action: string): Promise<void> {
    const { queries, clock } = this.options;
    await insertRecord({
      orgId: part.org_id,
      actorType: actor.type,
      actor: actor.id,
      action,
      target: JSON.stringify({ part_id: part.id }),
      at: clock.now(),
      address: facts.address,
      client: facts.client,
      isWritten: false,
    }).execute(queries);
  }
}

function fieldsOf({ part, actor, facts }: Relayed): Record<string, string> {
  return { part: part.id, caller: actor.id, peer: facts.address };
}
