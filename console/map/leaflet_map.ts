import L from "leaflet";
import "leaflet/dist/leaflet.css";
import type { GetMapTilesResponse } from "../../shared/gen/machine/cloud/v1/machine_pb.ts";
import { type Area, DEEPEST_ZOOM, type MapItem, type MapView } from "./clusters.ts";
import { landOf } from "./land.ts";
import landText from "./land.txt?raw";
import "./map.css";

/** How Leaflet's own parts are called. */
export interface MapTexts {
  readonly zoomIn: string;
  readonly zoomOut: string;
}

/** How a map behaves; by default as one that a page is about. */
export interface MapOptions {
  /** The wheel moves the page, not the map; default false. */
  readonly isSmall?: boolean;
}

/** What a mark shows and says; made new for each change of it. */
export interface Mark {
  /** Equal as long as the mark is. */
  readonly state: string;
  readonly fill: (element: HTMLElement) => void;
}

interface Drawn {
  readonly marker: L.Marker;
  readonly element: HTMLElement;
  state: string;
}

const GRATICULE_DEGREES = 30;
const NORTHMOST = 85.05;
/** The globe is drawn again at both sides, degrees. */
const TURNS = [-360, 0, 360];

/** The map itself: outlines or tiles, and marks that are elements of the page. */
export class LeafletMap {
  readonly #map: L.Map;
  readonly #drawn = new Map<string, Drawn>();
  /** Since the pointer was pressed. */
  #wasDragged = false;

  /**
   * @param moved is called when the map begins to show something, and each time it was moved
   */
  constructor(
    box: HTMLElement,
    texts: MapTexts,
    moved: () => void,
    { isSmall = false }: MapOptions = {},
  ) {
    const isStill = matchMedia("(prefers-reduced-motion: reduce)").matches;
    this.#map = L.map(box, {
      attributionControl: false,
      zoomControl: false,
      minZoom: 1,
      maxZoom: DEEPEST_ZOOM,
      worldCopyJump: true,
      zoomAnimation: !isStill,
      fadeAnimation: !isStill,
      markerZoomAnimation: !isStill,
      inertia: !isStill,
      scrollWheelZoom: !isSmall,
    });
    L.control.zoom({ zoomInTitle: texts.zoomIn, zoomOutTitle: texts.zoomOut }).addTo(this.#map);
    L.control.scale({ imperial: false }).addTo(this.#map);
    // Below tiles, which may be missing.
    this.#map.createPane("land").style.zIndex = "150";
    const renderer = L.svg({ pane: "land", padding: 0.5 });
    const drawing = { renderer, pane: "land", interactive: false };
    const land = landOf(landText);
    for (const turn of TURNS) {
      const places = land.map((rings) =>
        rings.map((ring) => ring.map(([east, north]) => L.latLng(north, east + turn)))
      );
      L.polygon(places, { ...drawing, className: "land" }).addTo(this.#map);
    }
    L.polyline(graticule(), { ...drawing, className: "graticule" }).addTo(this.#map);
    this.#map.on("moveend", moved);
    this.#map.on("dragstart", () => (this.#wasDragged = true));
    box.addEventListener("pointerdown", () => (this.#wasDragged = false));
  }

  showTiles({ urlTemplate }: GetMapTilesResponse): void {
    if (urlTemplate === "") return;
    L.tileLayer(urlTemplate, {
      maxZoom: DEEPEST_ZOOM,
      // Public servers of tiles refuse who does not say where they are shown.
      referrerPolicy: "strict-origin-when-cross-origin",
    }).addTo(this.#map);
  }

  get view(): MapView {
    const { lat, lng } = this.#map.getCenter();
    return { latitude: lat, longitude: lng, zoom: this.#map.getZoom() };
  }

  /** Shows a place; before anything was shown, it is the first. */
  look({ latitude, longitude, zoom }: MapView): void {
    this.#map.setView([latitude, longitude], zoom);
  }

  /** Shows all these places, at once. */
  fit(places: readonly { readonly latitude: number; readonly longitude: number }[]): void {
    const all = L.latLngBounds(places.map(({ latitude, longitude }) => [latitude, longitude]));
    this.#map.fitBounds(all, { padding: [48, 48], maxZoom: 12, animate: false });
  }

  /** What is seen. */
  get area(): Area {
    const bounds = this.#map.getBounds();
    return [bounds.getWest(), bounds.getSouth(), bounds.getEast(), bounds.getNorth()];
  }

  /** The press that is being handled is the end of a drag. */
  isDrag(event: MouseEvent): boolean {
    return event.detail !== 0 && this.#wasDragged;
  }

  /** Shows these marks. Those that stay keep their elements, and so the focus. */
  show(items: readonly MapItem[], markOf: (item: MapItem) => Mark): void {
    const gone = new Set(this.#drawn.keys());
    for (const item of items) {
      gone.delete(item.key);
      const mark = markOf(item);
      const drawn = this.#drawn.get(item.key) ?? this.#add(item);
      drawn.marker.setLatLng([item.latitude, item.longitude]);
      if (drawn.state === mark.state) continue;
      drawn.state = mark.state;
      mark.fill(drawn.element);
    }
    for (const key of gone) {
      this.#drawn.get(key)?.marker.remove();
      this.#drawn.delete(key);
    }
  }

  #add({ key, latitude, longitude }: MapItem): Drawn {
    const element = document.createElement("div");
    L.DomEvent.on(element, "dblclick", L.DomEvent.stopPropagation);
    const icon = L.divIcon({ html: element, className: "mark", iconSize: [0, 0] });
    const options = { icon, keyboard: false, interactive: false };
    const marker = L.marker([latitude, longitude], options).addTo(this.#map);
    const drawn = { marker, element, state: "" };
    this.#drawn.set(key, drawn);
    return drawn;
  }

  resized(): void {
    this.#map.invalidateSize({ animate: false });
  }

  close(): void {
    this.#map.remove();
    this.#drawn.clear();
  }
}

function graticule(): L.LatLngTuple[][] {
  const lines: L.LatLngTuple[][] = [];
  for (let at = -540; at <= 540; at += GRATICULE_DEGREES) {
    lines.push([[-NORTHMOST, at], [NORTHMOST, at]]);
    if (Math.abs(at) < 90) lines.push([[at, -540], [at, 540]]);
  }
  return lines;
}
