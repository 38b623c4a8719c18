import type { ListenAddress } from "../api/addresses/addresses.ts";
import type { Logger } from "../../shared/log/logger.ts";
import type { Clock } from "../../shared/base/time/clock.ts";
import type { AcmeSettings } from "../operations/acme/acme_certificate.ts";
import type { TlsPair } from "../operations/tls/pair.ts";
import type { Leadership } from "../nodes/leadership.ts";
import type { DataFolder } from "../storage/data_folder/data_folder.ts";
import { WatchedCertificate } from "../operations/tls/watched_certificate.ts";

/** Certificate and key of the port: texts, files, or one that an ACME server gives. */
export type TlsSetting =
  | TlsPair & {
    /** Where they come from; left out: they stay as they are. */
    readonly files?: { readonly cert: string; readonly key: string } | undefined;
  }
  | {
    readonly acme: AcmeSettings & {
      /** Where the ACME server's questions arrive. */
      readonly listen: ListenAddress;
    };
  };

/** Where the certificate comes from. */
interface Source {
  readonly notAfter: Date;
  run(take: (pair: TlsPair) => void, signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

interface TlsDeps {
  readonly dataDir: string;
  readonly folder: DataFolder;
  /** The node that leads orders certificates. */
  readonly leadership: Pick<Leadership, "isLeader">;
  readonly clock: Clock;
  readonly log: Logger;
}

/** The certificate of the cloud's own port. */
export class Tls {
  private constructor(
    /** To begin with. */
    readonly pair: TlsPair,
    private readonly source: Source | undefined,
  ) {}

  /** Undefined without TLS. @throws when the port for an ACME server is taken */
  static async open(setting: TlsSetting | undefined, deps: TlsDeps): Promise<Tls | undefined> {
    if (!setting) return undefined;
    if ("acme" in setting) {
      const { pair, source } = await openAcme(setting.acme, deps);
      return new Tls(pair, source);
    }
    const { files, ...pair } = setting;
    return new Tls(pair, files && fileSource(files, pair, deps));
  }

  /** When the certificate ends that is served. */
  get notAfter(): Date | undefined {
    return this.source?.notAfter;
  }

  /** Brings new certificates to `take` until the signal aborts. */
  async run(take: (pair: TlsPair) => void, signal: AbortSignal): Promise<void> {
    await this.source?.run(take, signal);
  }

  async close(): Promise<void> {
    await this.source?.close();
  }
}

function fileSource(
  files: { readonly cert: string; readonly key: string },
  pair: TlsPair,
  { clock, log }: TlsDeps,
): Source {
  let take: (pair: TlsPair) => void = () => undefined;
  const watched = new WatchedCertificate({
    ...{ files, pair, clock, log },
    onChange: (pair) => take(pair),
  });
  return {
    get notAfter() {
      return watched.notAfter;
    },
    run: async (taker, signal) => {
      take = taker;
      await watched.run(signal);
    },
    close: () => Promise.resolve(),
  };
}

async function openAcme(
  { listen, ...settings }: Extract<TlsSetting, { acme: unknown }>["acme"],
  deps: TlsDeps,
): Promise<{ pair: TlsPair; source: Source }> {
  const { HttpChallenges } = await import("../operations/acme/http_challenges.ts");
  const { AcmeCertificate } = await import("../operations/acme/acme_certificate.ts");
  const { newAccountKey, order } = await import("../operations/acme/order.ts");
  const { AcmeFolder, SharedAcmeStore } = await import("../operations/acme/acme_store.ts");
  const { dataDir, folder: { database, keys } } = deps;
  const store = database.engine === "sqlite"
    ? await AcmeFolder.open(dataDir)
    : new SharedAcmeStore(database, keys.secrets, dataDir);
  const challenges = new HttpChallenges(deps.log);
  if (store.isShared) challenges.answerFor(() => store.account());
  await challenges.listen(listen);
  try {
    const certificate = await AcmeCertificate.open({
      ...{ ...settings, ...deps, store, challenges, order, newAccountKey },
      mayOrder: () => deps.leadership.isLeader,
    });
    const source: Source = {
      get notAfter() {
        return certificate.notAfter;
      },
      run: (take, signal) => certificate.run(take, signal),
      close: () => challenges.close(),
    };
    return { pair: certificate.pair, source };
  } catch (error) {
    await challenges.close();
    throw error;
  }
}
