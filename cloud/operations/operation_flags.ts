import type { CommandTable } from "../../shared/base/flags/flags.ts";

const data = {
  "data": {
    type: "string",
    required: true,
    placeholder: "DIR",
    env: "MACHINE_CLOUD_DATA",
    doc: "Data folder of the cloud.",
  },
} as const;

const blobStore = {
  "type": "string",
  "placeholder": "URL",
  "env": "MACHINE_CLOUD_BLOB_STORE",
  "doc": "The object storage, as serve is given it.",
} as const;

const json = { type: "boolean", doc: "Print JSON." } as const;

/** Commands for who runs a cloud. */
export const operationCommands = {
  "backup": {
    summary: "Write everything in the data folder into one file, also while it is served.",
    flags: {
      ...data,
      "data": { ...data.data, doc: "Data folder of the cloud, also of one that is serving." },
      "json": json,
    },
    arguments: [{ placeholder: "FILE", doc: "The backup; one that is there is replaced." }],
    footer: "The file holds the keys of the cloud: keep it as you keep those. Files in an object " +
      "storage are not part of it.",
  },
  "restore": {
    summary: "Make a data folder out of a backup.",
    flags: {
      ...data,
      "data": { ...data.data, doc: "Data folder to make; empty or not there." },
      "database": {
        type: "string",
        placeholder: "URL",
        doc: "Address of PostgreSQL, as serve takes it: the rows go there, where no tables of a " +
          "cloud may be. Left out: into the folder, as SQLite.",
      },
      "json": json,
    },
    arguments: [{ placeholder: "FILE", doc: "The backup." }],
  },
  "migrate": {
    summary:
      "Move the rows of a cloud from SQLite to PostgreSQL or back, or bring tables up to date.",
    flags: {
      ...data,
      "to": {
        type: "string",
        placeholder: "URL",
        doc: "Address of PostgreSQL, as serve takes it with --database, also while the cloud is " +
          "served, which is to be stopped when all is copied; or sqlite for the way back. " +
          "Left out: nothing is moved; the tables are brought up to date, as the first start of " +
          "this version does.",
      },
      "files-to": {
        type: "string",
        placeholder: "PLACE",
        doc:
          "Move large files instead: objects, to the object storage of --blob-store, or folder, " +
          "to the data folder. Also while the cloud is served; nothing is removed.",
      },
      "blob-store": blobStore,
      "remove": {
        type: "boolean",
        doc: "With --files-to: remove each file where it was, once its copy was compared again.",
      },
      "json": json,
    },
    footer: "With --to the cloud must not be served meanwhile. Run it again when it was cut: it " +
      "continues.",
  },
  "doctor": {
    summary: "Check everything that a cloud needs, and report what to do. Changes nothing.",
    flags: {
      ...data,
      "public-url": {
        type: "string",
        placeholder: "URL",
        doc: "Where machines reach the cloud. Default: where it served last.",
      },
      "tls-cert": {
        type: "string",
        placeholder: "FILE",
        doc: "Certificate that serve is given.",
      },
      "tls-key": { type: "string", placeholder: "FILE", doc: "Its private key." },
      "ca-cert": {
        type: "string",
        placeholder: "FILE",
        doc: "Certificate of the machines' authority that serve is given.",
      },
      "smtp-url": {
        type: "string",
        placeholder: "URL",
        env: "MACHINE_CLOUD_SMTP_URL",
        doc: "Mail server that serve is given.",
      },
      "blob-store": blobStore,
      "json": json,
    },
    footer: "Exit code 1 when something failed.",
  },
  "health": {
    summary: "Ask a cloud whether it is ready to serve, as health checks of containers do.",
    flags: {
      "url": {
        type: "string",
        default: "http://127.0.0.1:8080",
        placeholder: "URL",
        doc: "Where the cloud listens.",
      },
    },
    footer: "Exit code 1 when it is not, or does not answer within 5 seconds.",
  },
} as const satisfies CommandTable;
