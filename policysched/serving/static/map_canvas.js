// Draws the map. One canvas, because 25,000 elements would be too many for a browser.

import { getTextColour } from "./colours.js";
import { getTilePlace } from "./map_layout.js";
import { showText } from "./visible.js";

const WITH_NAME = 60;
const WITH_HEIGHT = 12;
const WITH_AMOUNT = [150, 80];
const WITH_LETTER_ABOVE = 48;
const LARGEST_LETTER = 11;
const LARGEST_CORNER = 8;
const TINT = 0.3;
const DIMMED = 0.12;

/**
 * Draws the tiles. Frames have a canvas of their own, see `drawFrames`: while the pointer moves,
 * thousands of tiles stay as they are.
 *
 * @param look what `makeLook` returns
 */
export function draw(canvas, map, cluster, look) {
  // Borders without width carry the colours of tiles; reading a style is slow, so each is read once.
  const { color, borderTopColor, borderBottomColor, fontFamily } = getComputedStyle(canvas);
  const style = { text: color, empty: borderTopColor, plate: borderBottomColor, fontFamily };
  const pen = clear(canvas, map);
  pen.textBaseline = "middle";
  for (const group of map.groups) {
    group.members.forEach((node, position) => {
      const place = getTilePlace(group, position, map.tile);
      drawTile(pen, place, map.tile, describeTile(look, node), style);
      if (map.tile[0] >= WITH_NAME) drawNames(pen, place, map.tile, cluster.names[node], () => look.describe(node), style);
    });
  }
  pen.globalAlpha = 1;
}

/** Draws frames around nodes, given by their index. */
export function drawFrames(canvas, map, chosen) {
  const pen = clear(canvas, map);
  pen.strokeStyle = getComputedStyle(canvas).color;
  pen.lineWidth = 2;
  for (const group of map.groups) {
    for (const node of chosen) frameNode(pen, group, node, map.tile);
  }
}

/** Returns the pen of an empty canvas that is as large as the map. */
function clear(canvas, map) {
  const ratio = window.devicePixelRatio || 1;
  canvas.style.height = `${map.height}px`;
  const [width, height] = [Math.round(canvas.clientWidth * ratio), Math.round(map.height * ratio)];
  const pen = canvas.getContext("2d");
  if (canvas.width !== width || canvas.height !== height) {
    canvas.width = width; // makes a new picture, which is slow
    canvas.height = height;
  }
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, canvas.clientWidth, map.height);
  return pen;
}

function describeTile(look, node) {
  const { colour, letter, isDimmed } = look.entryOf(node);
  return {
    colour,
    letter,
    alpha: isDimmed ? DIMMED : 1,
    share: look.shareOf(node),
    isTinted: look.isTinted,
    isCrossed: look.isCrossed(node),
    hasTaints: look.hasTaints(node),
  };
}

function drawTile(pen, [x, y], [w, h], tile, style) {
  const [width, height] = [w - 1, h - 1];
  pen.globalAlpha = tile.alpha;
  if (w < WITH_HEIGHT || tile.share === null) {
    pen.fillStyle = tile.colour;
    pen.fillRect(x, y, width, height);
  } else {
    drawBar(pen, x, y, width, height, tile, style);
  }
  if (tile.isCrossed) drawCross(pen, x, y, width, height, style);
  if (tile.hasTaints) drawCorner(pen, x, y, width, height, style);
  if (tile.letter) drawLetter(pen, tile, x, y, width, height, style);
}

function drawBar(pen, x, y, w, h, tile, style) {
  pen.fillStyle = style.empty;
  pen.fillRect(x, y, w, h);
  pen.fillStyle = tile.colour;
  if (tile.isTinted) {
    pen.globalAlpha = tile.alpha * TINT;
    pen.fillRect(x, y, w, h);
    pen.globalAlpha = tile.alpha;
  }
  const filled = Math.max(2, Math.min(1, tile.share) * h);
  pen.fillRect(x, y + h - filled, w, filled);
}

function drawCross(pen, x, y, w, h, style) {
  pen.strokeStyle = style.text;
  pen.lineWidth = 1;
  pen.beginPath();
  pen.moveTo(x, y + h);
  pen.lineTo(x + w, y);
  pen.stroke();
}

/** Marks the upper right corner. */
function drawCorner(pen, x, y, w, h, style) {
  const size = Math.min(LARGEST_CORNER, w / 2, h / 2);
  pen.fillStyle = style.text;
  pen.beginPath();
  pen.moveTo(x + w - size, y);
  pen.lineTo(x + w, y);
  pen.lineTo(x + w, y + size);
  pen.fill();
}

function drawNames(pen, [x, y], [w, h], name, describe, style) {
  const indent = h < WITH_LETTER_ABOVE ? LARGEST_LETTER : 0; // beside the letter rather than over it
  drawName(pen, name, x + indent, y + h / 2, w - 1 - indent, style);
  if (w >= WITH_AMOUNT[0] && h >= WITH_AMOUNT[1]) drawName(pen, describe(), x, y + h / 2 + 18, w - 1, style);
}

/** Writes on a plate, so that the text is readable on every colour. */
function drawName(pen, name, x, y, w, style) {
  pen.font = `11px ${style.fontFamily}`;
  const text = cutText(pen, showText(name), w - 8);
  pen.fillStyle = style.plate;
  pen.fillRect(x + 2, y - 8, pen.measureText(text).width + 4, 16);
  pen.fillStyle = style.text;
  pen.fillText(text, x + 4, y);
}

/** Writes the letter of the legend in the upper left corner, which the bar may reach. */
function drawLetter(pen, tile, x, y, w, h, style) {
  const isOnColour = w < WITH_HEIGHT - 1 || tile.share === null || (1 - tile.share) * h < 9;
  const size = Math.min(LARGEST_LETTER, w);
  const indent = Math.min(4, (w - size * 0.6) / 2);
  pen.fillStyle = isOnColour ? getTextColour(tile.colour) : style.text;
  pen.font = `bold ${size}px monospace`;
  pen.fillText(tile.letter, x + indent, y + Math.min(8, h / 2));
}

function cutText(pen, text, width) {
  if (pen.measureText(text).width <= width) return text;
  let end = text.length;
  while (end > 1 && pen.measureText(`${text.slice(0, end)}…`).width > width) end -= 1;
  return `${text.slice(0, end)}…`;
}

function frameNode(pen, group, node, tile) {
  const position = group.members.indexOf(node);
  if (position < 0) return;
  const [x, y] = getTilePlace(group, position, tile);
  pen.strokeRect(x - 1, y - 1, tile[0] + 1, tile[1] + 1);
}
