/** Where a machine is reached, by port and WebRTC, and who is let in. */
import { emptyMachineConfig, type MachineConfig } from "../../../shared/config/machine_config.ts";
import type { Interceptor } from "../../../shared/rpc/server/interceptor.ts";
import { logRequests } from "../../../shared/rpc/server/request_log.ts";
import type { RpcRouter } from "../../../shared/rpc/server/router.ts";
import { AccessControl } from "../../serving/access/access_control.ts";
import { type CloudAccess, NO_CLOUD_ACCESS } from "../../serving/access/cloud_access.ts";
import { accessRules } from "../../serving/access/rules_from_config.ts";
import type { ServedApi } from "../../serving/apis/served_api.ts";
import { gatewayRoute } from "../../serving/gateway/gateway_route.ts";
import { Mdns } from "../../serving/mdns/mdns.ts";
import {
  bindsToAll,
  type IssuedCertificate,
  leavesCertificate,
  listenSettings,
} from "../../serving/web/listen_settings.ts";
import { MachineAdmission } from "../../serving/web/machine_admission.ts";
import { createRoutes, type RestartAnswer } from "../../serving/web/routes.ts";
import { WebServer } from "../../serving/web/web_server.ts";
import { WebRtc } from "../../serving/webrtc/webrtc.ts";
import type { MachineContext } from "./machine_context.ts";

/** How long calls may continue when the server ends. Milliseconds. */
const CALL_GRACE_MS = 2_000;

export interface MachinePortOptions {
  /** `network.bind_address` of a file that only leads to a cloud. */
  readonly localAddress: string | undefined;
  /** Adds what callers find. */
  readonly mount: (router: RpcRouter) => void;
  /** The APIs of what they find, also those that modules and remotes brought. */
  readonly apis: () => readonly ServedApi[];
  /** Run after it is known who calls. */
  readonly interceptors: readonly Interceptor[];
  readonly restartAllowed: () => Promise<RestartAnswer>;
  /** Whether the cloud answered last time; undefined without a cloud. */
  readonly cloudReached: () => boolean | undefined;
}

export class MachinePort {
  readonly access = new AccessControl();
  readonly webrtc: WebRtc;
  readonly #web: WebServer;
  readonly #admission: MachineAdmission;
  readonly #mdns: Mdns;
  #cloudAccess: CloudAccess = NO_CLOUD_ACCESS;
  #config: MachineConfig = emptyMachineConfig();
  #certificate: IssuedCertificate | undefined;
  #announced = false;
  #toldOfPermissions = false;

  constructor(
    private readonly context: MachineContext,
    private readonly options: MachinePortOptions,
  ) {
    const { clock, build, log, switches, cloud, diagnostics } = context;
    const { mount, apis } = options;
    const networking = log.child("networking");
    const port = () => this.address?.port;
    this.#admission = new MachineAdmission({
      signInRequired: () => this.access.rules.required,
      port,
      log: networking,
    });
    this.#mdns = new Mdns({ enabled: switches.mdns, clock, log: networking });
    const interceptors = [
      ...diagnostics?.interceptors ?? [],
      logRequests(networking),
      this.#admission.interceptor,
      this.access.interceptor,
      ...options.interceptors,
    ];
    const gateway = gatewayRoute({
      ...{ mount, apis, interceptors, version: build.version },
      nowMs: () => clock.monotonicMs(),
      allowsOrigin: (origin) => this.#admission.allowsOrigin(origin),
    });
    this.#web = new WebServer({
      ...{ log, interceptors, mount },
      http: createRoutes({
        restartAllowed: options.restartAllowed,
        cloudReached: options.cloudReached,
        others: (request, peer) => gateway(request, peer) ?? diagnostics?.http(request, peer),
      }),
      refuse: (...asked) => this.#admission.refusal(...asked),
    });
    this.webrtc = new WebRtc({
      enabled: switches.webrtc,
      cloud: cloud && { ...cloud, allowInsecure: switches.allowInsecure },
      ...{ port, mount, interceptors, access: this.access, clock, log: networking },
    });
  }

  /** Where the server listens; undefined before the first {@link listen}. */
  get address(): { hostname: string; port: number } | undefined {
    return this.#web.address;
  }

  /** Who may call, from where, and by which names. The port moves with {@link listen} only. */
  follow(config: MachineConfig): void {
    this.#config = config;
    this.#setRules();
    this.#admission.follow(config);
    this.webrtc.follow(config);
    void this.webrtc.accessChanged();
    this.#announceInNetwork();
  }

  /** Who may open this machine, as the cloud reports it; counts from the next {@link follow} on. */
  set cloudAccess(access: CloudAccess) {
    this.#cloudAccess = access;
  }

  /** A certificate that the cloud issued; the port is served with it from the next time on. */
  set certificate(issued: IssuedCertificate | undefined) {
    this.#certificate = issued;
  }

  /** Listens where the configuration specifies that runs, with a certificate that is new. */
  async listenAgain(): Promise<void> {
    await this.listen(this.#config);
  }

  /**
   * Listens where the configuration specifies.
   *
   * @throws {PortInUseError} or another error; the server then listens where it did.
   */
  async listen(config: Pick<MachineConfig, "network" | "cloud">): Promise<void> {
    const { log, switches: { noTls } } = this.context;
    const { localAddress } = this.options;
    const issued = this.#certificate;
    const settings = await listenSettings({ config, localAddress, noTls, issued });
    const changed = await this.#web.listen(settings);
    if (!changed) return;
    if (leavesCertificate(config, settings)) {
      log.warn("TLS is switched off by -no-tls or network.no_tls, though there is a certificate");
    }
    if (bindsToAll(settings)) {
      if (!this.access.rules.required) {
        log.warn("binding to all interfaces without authentication");
      } else if (!settings.tls) {
        log.warn("binding to all interfaces without TLS: tokens can be read in transit");
      }
    }
    if (this.#announced) this.announce();
  }

  /** Reports to operator and network where the machine is, now and whenever that changes. */
  announce(): void {
    this.#announced = true;
    this.#web.announce();
    this.#announceInNetwork();
  }

  /** Takes no more calls, and gives those that run a moment. */
  async close(): Promise<void> {
    await Promise.all([
      this.#mdns.close(),
      this.#web.close(CALL_GRACE_MS),
      this.webrtc.close(CALL_GRACE_MS),
    ]);
  }

  #setRules(): void {
    const credentials = this.context.cloud?.credentials;
    const rules = accessRules({
      ...{ config: this.#config, credentials, cloudAccess: this.#cloudAccess },
    });
    this.access.setRules(rules);
    const holdNobody = rules.permissions.length > 0 && !rules.required;
    if (holdNobody && !this.#toldOfPermissions) {
      this.context.log.warn(
        "auth.user_permissions hold nobody, because nobody signs in here; set auth.handlers",
      );
    }
    this.#toldOfPermissions = holdNobody;
  }

  #announceInNetwork(): void {
    const { address } = this;
    if (!this.#announced || !address) return;
    const { cloud, network } = this.#config;
    const given = [cloud?.fqdn, cloud?.local_fqdn, network?.fqdn];
    this.#mdns.announce({ given, ...address, webrtc: this.context.switches.webrtc });
  }
}
