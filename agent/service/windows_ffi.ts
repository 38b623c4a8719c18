/** {@link ServiceControl} and {@link EventLog} over advapi32.dll. Windows on 64 bit only. */
import { wideText as wide } from "../../shared/base/process/windows_structs.ts";
import type {
  EventKind,
  EventLog,
  ServiceControl,
  ServiceHandlers,
  ServiceStatus,
} from "./windows_api.ts";

const SYMBOLS = {
  // Returns when the service has stopped, so it waits on a thread of its own.
  StartServiceCtrlDispatcherW: { parameters: ["buffer"], result: "i32", nonblocking: true },
  RegisterServiceCtrlHandlerExW: {
    parameters: ["buffer", "function", "pointer"],
    result: "pointer",
  },
  SetServiceStatus: { parameters: ["pointer", "buffer"], result: "i32" },
  RegisterEventSourceW: { parameters: ["pointer", "buffer"], result: "pointer" },
  ReportEventW: {
    parameters: ["pointer", "u16", "u16", "u32", "pointer", "u16", "u32", "buffer", "pointer"],
    result: "i32",
  },
  DeregisterEventSource: { parameters: ["pointer"], result: "i32" },
} as const;

const SERVICE_WIN32_OWN_PROCESS = 0x10;
const POINTER_BYTES = 8;

const open = () => Deno.dlopen("advapi32.dll", SYMBOLS);

/** The service manager of this host. */
export function windowsServiceControl(): ServiceControl {
  const { symbols } = open();
  let handle: Deno.PointerValue = null;
  return {
    dispatch: async (name, handlers) => {
      const wideName = wide(name);
      const onControl = controlCallback(handlers);
      const onStart = mainCallback(() => {
        handle = symbols.RegisterServiceCtrlHandlerExW(wideName, onControl.pointer, null);
        if (handle !== null) handlers.started();
      });
      try {
        const table = serviceTable(wideName, onStart.pointer);
        const connected = await symbols.StartServiceCtrlDispatcherW(table);
        if (connected === 0) {
          throw new Error("only the service manager of Windows starts a program with --service");
        }
      } finally {
        onStart.close();
        onControl.close();
      }
    },
    report: (status) => {
      if (handle !== null) symbols.SetServiceStatus(handle, serviceStatus(status));
    },
  };
}

// Windows calls both on threads of its own; a callback that is safe for threads runs on ours.

/** HandlerEx. */
function controlCallback(handlers: ServiceHandlers) {
  return Deno.UnsafeCallback.threadSafe(
    { parameters: ["u32", "u32", "pointer", "pointer"] as const, result: "u32" },
    (code) => handlers.control(code),
  );
}

/** ServiceMain; it may return while the service runs. */
function mainCallback(started: () => void) {
  return Deno.UnsafeCallback.threadSafe(
    { parameters: ["u32", "pointer"] as const, result: "void" },
    started,
  );
}

/** SERVICE_TABLE_ENTRYW of one service, and an empty one that ends the table. */
function serviceTable(
  name: Uint8Array<ArrayBuffer>,
  main: Deno.PointerValue,
): Uint8Array<ArrayBuffer> {
  const table = new Uint8Array(4 * POINTER_BYTES);
  const view = new DataView(table.buffer);
  view.setBigUint64(0, BigInt(Deno.UnsafePointer.value(Deno.UnsafePointer.of(name))), true);
  view.setBigUint64(POINTER_BYTES, BigInt(Deno.UnsafePointer.value(main)), true);
  return table;
}

/** SERVICE_STATUS: seven numbers of 32 bits. */
export function serviceStatus(status: ServiceStatus): Uint8Array<ArrayBuffer> {
  const { state, accepts, exitCode, specificCode, checkPoint, waitHintMs } = status;
  const type = SERVICE_WIN32_OWN_PROCESS;
  const fields = [type, state, accepts, exitCode, specificCode, checkPoint, waitHintMs];
  const bytes = new Uint8Array(fields.length * 4);
  const view = new DataView(bytes.buffer);
  fields.forEach((field, index) => view.setUint32(index * 4, field, true));
  return bytes;
}

const EVENT_TYPES: Readonly<Record<EventKind, number>> = { error: 1, warning: 2, information: 4 };
/** The message file that the installation names knows the events 1 to 1000 as plain text. */
const EVENT_ID = 1;
/** What Windows takes as one text. */
const LONGEST_TEXT = 31_000;

/** The event log of this host. @param source as the installation registered it. */
export function windowsEventLog(source: string): EventLog {
  const library = open();
  const { symbols } = library;
  const handle = symbols.RegisterEventSourceW(null, wide(source));
  return {
    write: (kind, text) => {
      const message = wide(text.slice(0, LONGEST_TEXT));
      const strings = new BigUint64Array([
        BigInt(Deno.UnsafePointer.value(Deno.UnsafePointer.of(message))),
      ]);
      symbols.ReportEventW(handle, EVENT_TYPES[kind], 0, EVENT_ID, null, 1, 0, strings, null);
    },
    close: () => {
      symbols.DeregisterEventSource(handle);
      library.close();
    },
  };
}
