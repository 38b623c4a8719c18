// What a browser has and the published TypeScript SDK uses for WebRTC; a library takes the place of
// the browser's RTCPeerConnection. To be imported before the SDK.
import { RTCPeerConnection } from "werift";

// Where there is a Worker the SDK takes the rest of a browser for granted, window and all.
delete globalThis.Worker;
globalThis.RTCPeerConnection = RTCPeerConnection;
// The library's own class of that name is made in another way than browsers have it.
globalThis.RTCSessionDescription = class {
  constructor(description) {
    Object.assign(this, description);
  }
};
