// The map: a canvas of tiles, with a link above each group that leads to the map of this group.

import { html } from "../html.js";
import { useLayoutEffect, useMemo, useRef, useState } from "../vendor/preact.js";
import { draw, drawFrames } from "../map_canvas.js";
import { findNodeAt, layOut } from "../map_layout.js";
import { describeFill, describeState, describeVerdict, makeLook } from "../map_looks.js";
import { NARROW, PRESSED, useMedia } from "../media.js";
import { formatCount, formatNumber } from "../numbers.js";
import { describeNodeChange, getLastPlan, shortenNodeChange, sumChanges } from "../plans.js";
import { words } from "../words.js";

const LEAST_HEIGHT = 260;
/** Pixels for the line below the map. */
const BELOW = 60;
/** Least widths of tiles in pixels: a finger can press the first, and an eye tells the colour of the second. */
const LEAST_PRESSED = 24;
const LEAST_SEEN = 10;

export function NodeMap({ cluster, groups, settings, legend, only, about, change, addressOf }) {
  const canvas = useRef(null);
  const frames = useRef(null);
  const [pointed, setPointed] = useState(-1);
  const size = useRoom(canvas);
  const least = useMedia(NARROW) ? LEAST_PRESSED : LEAST_SEEN;
  const map = useMemo(
    () => (size ? layOut(groups, size.width, size.height, least) : null),
    [groups, size, least],
  );
  const look = useMemo(
    () => makeLook(cluster, settings.fill, legend, only),
    [cluster, settings.fill, legend, only],
  );
  const selected = cluster.names.indexOf(settings.node);
  useLayoutEffect(() => {
    if (map !== null) draw(canvas.current, map, cluster, look);
  }, [map, cluster, look]);
  useLayoutEffect(() => {
    if (map !== null) drawFrames(frames.current, map, [selected, pointed].filter((node) => node >= 0));
  }, [map, selected, pointed]);

  const findNode = (event) => {
    const box = canvas.current.getBoundingClientRect();
    return map === null ? -1 : findNodeAt(map, event.clientX - box.left, event.clientY - box.top);
  };
  const press = (event) => {
    const next = map && findNextNode(map, pointed < 0 ? selected : pointed, event.key);
    if (next !== null && next !== undefined) {
      event.preventDefault();
      setPointed(next);
    } else if (event.key === "Enter" && pointed >= 0) change({ node: cluster.names[pointed] });
    else if (event.key === "Escape") change({ node: "" });
  };
  const hint = useMedia(PRESSED) ? "press a tile" : "point at a tile, or press the arrow keys";
  const told = pointed >= 0 ? describeNode(cluster, settings, about, pointed) : "";
  const count = groups.reduce((sum, { members }) => sum + members.length, 0);
  return html`<div class="map">
    <canvas
      ref=${canvas}
      tabindex="0"
      role="application"
      aria-label=${`Map of ${formatCount(count, words.node)}. Arrow keys move, Enter opens a ${words.node}. ${told}`}
      onMouseMove=${(event) => setPointed(findNode(event))}
      onMouseLeave=${() => setPointed(-1)}
      onClick=${(event) => findNode(event) >= 0 && change({ node: cluster.names[findNode(event)] })}
      onKeyDown=${press}
    ></canvas>
    <canvas class="frames" ref=${frames} aria-hidden="true"></canvas>
    ${useMemo(
      () => map && html`<${Heads} map=${map} settings=${settings} cluster=${cluster} about=${about} addressOf=${addressOf} />`,
      [map, about, legend, addressOf({})],
    )}
    <p class="told" aria-live="polite">${told || hint}</p>
  </div>`;
}

/** Returns { width, height } for the map on the screen, null before the first drawing. */
function useRoom(canvas) {
  const [size, setSize] = useState(null);
  useLayoutEffect(() => {
    const measure = () => {
      const next = measureRoom(canvas.current);
      setSize((before) => (before?.width === next.width && before.height === next.height ? before : next));
    };
    const observer = new ResizeObserver(measure);
    observer.observe(canvas.current.parentElement);
    measure();
    return () => observer.disconnect();
  }, []);
  return size;
}

function measureRoom(canvas) {
  const top = canvas.getBoundingClientRect().top + window.scrollY;
  const height = Math.max(LEAST_HEIGHT, Math.floor(window.innerHeight - top - BELOW));
  return { width: canvas.parentElement.clientWidth, height };
}

/** The names and counts above the groups; a press shows only this group. */
function Heads({ map, settings, cluster, about, addressOf }) {
  return map.groups.map(({ name, members, x, y, width }) => {
    const style = { left: `${x}px`, top: `${y}px`, width: `${width}px` };
    const told = describeGroup(members, settings, cluster, about, shortenNodeChange);
    const text = html`<b>${name}</b><span>${told}</span>`;
    if (settings.by === "-" || settings.group) return html`<p class="head" style=${style}>${text}</p>`;
    return html`<a class="head" style=${style} title=${`show only ${name}: ${describeGroup(members, settings, cluster, about, describeNodeChange)}`} href=${addressOf({ group: name, form: "map", node: "" })}>${text}</a>`;
  });
}

function describeGroup(members, { colour }, cluster, about, describeChange) {
  const parts = [formatCount(members.length, words.node)];
  if (about !== null && (colour === "verdict" || colour === "points")) {
    const fit = members.filter((node) => about.of[node] < 0).length;
    parts.push(`${formatNumber(fit)} ${fit === 1 ? words.fits : words.fit}`);
  }
  if (colour === "plan") parts.push(describeChange(sumChanges(cluster, members)));
  return parts.filter(Boolean).join(" · ");
}

/** Returns the node that a key leads to from a node; undefined for other keys. */
function findNextNode(map, node, key) {
  const all = map.groups.flatMap((group) => group.members);
  const group = map.groups.find((each) => each.members.includes(node));
  if (group === undefined) return /^Arrow|Home/.test(key) ? all[0] : undefined;
  const at = group.members.indexOf(node);
  switch (key) {
    case "Home":
      return group.members[0];
    case "End":
      return group.members[group.members.length - 1];
    case "ArrowUp":
      return group.members[at - group.perRow] ?? node;
    case "ArrowDown":
      return group.members[at + group.perRow] ?? node;
    case "ArrowLeft":
      return all[Math.max(0, all.indexOf(node) - 1)];
    case "ArrowRight":
      return all[Math.min(all.length - 1, all.indexOf(node) + 1)];
    default:
      return undefined;
  }
}

function describeNode(cluster, { fill, colour }, about, node) {
  const name = cluster.names[node];
  const parts = [name, describeState(cluster, node), describeFill(cluster, fill, node)];
  if (about !== null) parts.push(describeVerdict(about, node));
  const changed = colour === "plan" && getLastPlan()?.nodes[name];
  if (changed) parts.push(describeNodeChange(changed));
  return parts.filter(Boolean).join(" · ");
}
