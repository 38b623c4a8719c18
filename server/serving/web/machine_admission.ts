/** Asks the rules for browsers of every request to one machine's port. */
import { hostname } from "node:os";
import { Code, ConnectError } from "@connectrpc/connect";
import type { MachineConfig } from "../../../shared/config/machine_config.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import type { Interceptor } from "../../../shared/rpc/server/interceptor.ts";
import { announcedNames, hostOf, renamed } from "../mdns/names.ts";
import {
  type AdmissionRules,
  type HeaderReader,
  hostRefusal,
  originRefusal,
} from "./web_admission.ts";

export interface MachineAdmissionOptions {
  /** Whether callers must sign in: then the token in each request decides, and no origin. */
  readonly signInRequired: () => boolean;
  /** Port of the machine; undefined before it listens. */
  readonly port: () => number | undefined;
  readonly log: Logger;
}

/** Other machines of the same name make multicast DNS number this one; more there hardly are. */
const MOST_RENAMED = 20;
/** Reasons that are remembered, to write each once. A stranger can make up any number. */
const MOST_TOLD = 50;

export class MachineAdmission {
  #config: Pick<MachineConfig, "cloud" | "network"> = {};
  #rules: { readonly rules: AdmissionRules; readonly port: number | undefined } | undefined;
  readonly #told = new Set<string>();

  constructor(private readonly options: MachineAdmissionOptions) {}

  /** Takes over names and origins of a configuration. */
  follow(config: Pick<MachineConfig, "cloud" | "network">): void {
    this.#config = config;
    this.#rules = undefined;
    this.#told.clear();
  }

  /**
   * Why a request over HTTP/1.1 is answered 403; undefined when it is let in. Calls whose callers
   * sign in are let in from everywhere. What is no call needs no signing in anywhere; there the
   * host counts always, but for the page that says what this is, which health checks request.
   */
  refusal(request: Request, isCall: () => boolean): string | undefined {
    const header: HeaderReader = (name) => request.headers.get(name);
    const rules = this.#current();
    if (this.options.signInRequired()) {
      const refused = hostRefusal(header, rules);
      if (refused === undefined || isCall()) return undefined;
      return new URL(request.url).pathname === "/" ? undefined : this.#tell(refused);
    }
    return this.#tell(hostRefusal(header, rules) ?? originRefusal(header, rules));
  }

  /** Whether the configuration names that origin. */
  allowsOrigin(origin: string): boolean {
    return this.#current().origins.has(origin.toLowerCase());
  }

  /** Refuses calls of foreign origins that come by other ways, as through a proxy for gRPC-web. */
  readonly interceptor: Interceptor = {
    before: (call) => {
      if (call.header("origin") === undefined || this.options.signInRequired()) return;
      const refused = this.#tell(originRefusal((name) => call.header(name), this.#current()));
      if (refused !== undefined) throw new ConnectError(refused, Code.PermissionDenied);
    },
  };

  #tell(refused: string | undefined): string | undefined {
    if (refused !== undefined && !this.#told.has(refused) && this.#told.size < MOST_TOLD) {
      this.#told.add(refused);
      this.options.log.warn(`a browser's request was refused: ${refused}`, {
        event: "connection_refused",
      });
    }
    return refused;
  }

  #current(): AdmissionRules {
    const port = this.options.port();
    if (!this.#rules || this.#rules.port !== port) {
      this.#rules = { rules: admissionRules(this.#config, port ?? 0, hostname()), port };
    }
    return this.#rules.rules;
  }
}

/** The names that a machine has by its configuration, its host and multicast DNS. */
export function admissionRules(
  { cloud, network }: Pick<MachineConfig, "cloud" | "network">,
  port: number,
  hostname: string,
): AdmissionRules {
  const given = [cloud?.fqdn, cloud?.local_fqdn, network?.fqdn];
  const ofHost = announcedNames({ given: [], hostname, port }).names;
  const announced = [
    ...announcedNames({ given, hostname, port }).names,
    ...ofHost.flatMap((name) =>
      Array.from({ length: MOST_RENAMED }, (_, at) => renamed(name, at + 1))
    ),
  ];
  const [short = ""] = hostname.split(".");
  const bound = /^([^[\]]*):\d+$/.exec(network?.bind_address ?? "")?.[1];
  const names = [
    ...given,
    ...announced.map(hostOf),
    hostname,
    short,
    `${short}.local`,
    bound,
    ...network?.allowed_hosts ?? [],
  ];
  return {
    hosts: new Set(names.flatMap((name) => name ? [name.toLowerCase().replace(/\.$/, "")] : [])),
    origins: new Set((network?.allowed_origins ?? []).map((origin) => origin.toLowerCase())),
  };
}
