/** For tests: a machine whose cloud has some captured data. */
import { type JsonObject, type MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { type ConnectError, createClient, createRouterTransport } from "@connectrpc/connect";
import type { CloudCredentials } from "../../../shared/cloud/auth/cloud_credentials.ts";
import {
  type BinaryDataSchema,
  DataService,
  type Filter,
} from "../../../shared/gen/viam/app/data/v1/data_pb.ts";
import type { CloudAccess } from "../../data/data_cloud.ts";
import { MachineSeat } from "../../data/machine_seat.ts";

/** One file, by its type. */
export interface StoredFile {
  readonly mimeType: string;
  readonly bytes: Uint8Array;
  /** Milliseconds. */
  readonly at: number;
}

/** Gives out its data page by page, as the cloud does, or answers with an error. */
export class FakeReplayCloud {
  readonly files: StoredFile[] = [];
  /** By the name of the method. */
  readonly answers = new Map<string, JsonObject[]>();
  /** What was asked, in order. */
  readonly filters: Filter[] = [];
  readonly credentials: CloudCredentials[] = [];
  open = 0;
  /** The next request fails with it. */
  failure: ConnectError | undefined;

  readonly seat = new MachineSeat();

  constructor(hasCloud = true) {
    this.seat.take(
      {
        connectCloud: hasCloud ? (credentials) => this.#connect(credentials) : undefined,
      } as Parameters<MachineSeat["take"]>[0],
    );
  }

  #connect(credentials: CloudCredentials): CloudAccess {
    this.credentials.push(credentials);
    this.open++;
    return {
      client: (service) => createClient(service, this.#transport),
      close: () => void this.open--,
    };
  }

  readonly #transport = createRouterTransport(({ service }) => {
    service(DataService, {
      binaryDataByFilter: ({ dataRequest: request }) => {
        const files = this.files.filter(({ mimeType }) =>
          request?.filter?.mimeType.includes(mimeType)
        );
        const { items, last } = this.#page(files, request);
        return { last, data: items.map(toBinaryData) };
      },
      tabularDataByFilter: ({ dataRequest: request }) => {
        const answers = this.answers.get(request?.filter?.method ?? "") ?? [];
        const { items, last } = this.#page(answers, request);
        return { last, data: items.map((data) => ({ data })) };
      },
    });
  });

  #page<T>(
    all: readonly T[],
    request: { filter?: Filter | undefined; limit: bigint; last: string } | undefined,
  ): { items: T[]; last: string } {
    if (request?.filter) this.filters.push(request.filter);
    const { failure } = this;
    this.failure = undefined;
    if (failure) throw failure;
    const from = Number(request?.last ?? 0);
    const items = all.slice(from, from + Number(request?.limit));
    return { items, last: items.length > 0 ? String(from + items.length) : "" };
  }
}

function toBinaryData({ bytes, at }: StoredFile): MessageInitShape<typeof BinaryDataSchema> {
  return {
    binary: bytes,
    metadata: { binaryDataId: `o/l/${at}`, timeReceived: timestampFromMs(at) },
  };
}
