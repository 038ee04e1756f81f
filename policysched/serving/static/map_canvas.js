// Draws the map. One canvas, because 25,000 elements would be too many for a browser.

import { getTextColour } from "./colours.js";
import { getTilePlace } from "./map_layout.js";
import { formatNumber } from "./numbers.js";
import { showText } from "./visible.js";

const WITH_NAME = 60;
const WITH_LETTER = 14;
const WITH_HEIGHT = 12;
const WITH_AMOUNT = [150, 80];
const TINT = 0.3;

/**
 * Draws tiles and names of groups. Frames have a canvas of their own, see `drawFrames`: while the
 * pointer moves, thousands of tiles stay as they are.
 *
 * @param look of a node's index: { colour, share, letter, isTinted, isDimmed, isCrossed, describe }
 */
export function draw(canvas, map, cluster, look) {
  // Borders without width carry the colours of tiles; reading a style is slow, so each is read once.
  const { color, borderTopColor, borderBottomColor, fontFamily } = getComputedStyle(canvas);
  const style = { color, borderTopColor, borderBottomColor, fontFamily };
  const pen = clear(canvas, map);
  pen.textBaseline = "middle";
  for (const group of map.groups) {
    drawHeader(pen, group, style);
    group.members.forEach((node, position) => {
      drawTile(pen, getTilePlace(group, position, map.tile), map.tile, look(node), cluster.names[node], style);
    });
  }
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
  canvas.width = Math.round(canvas.clientWidth * ratio);
  canvas.height = Math.round(map.height * ratio);
  const pen = canvas.getContext("2d");
  pen.scale(ratio, ratio);
  return pen;
}

function drawHeader(pen, group, style) {
  pen.fillStyle = style.color;
  pen.font = `600 12px ${style.fontFamily}`;
  const count = formatNumber(group.members.length);
  pen.fillText(cutText(pen, `${showText(group.name)} (${count})`, group.width), group.x, group.y + 9);
}

function drawTile(pen, [x, y], [w, h], look, name, style) {
  const inner = w > 4 ? 1 : 0.5;
  const alpha = look.isDimmed ? 0.12 : 1;
  pen.globalAlpha = alpha;
  const [left, top, width, height] = [x, y, w - inner, h - inner];
  if (w < WITH_HEIGHT || look.share === null) {
    pen.fillStyle = look.colour;
    pen.fillRect(left, top, width, height);
  } else {
    pen.fillStyle = style.borderTopColor;
    pen.fillRect(left, top, width, height);
    if (look.isTinted) {
      pen.globalAlpha = alpha * TINT;
      pen.fillStyle = look.colour;
      pen.fillRect(left, top, width, height);
      pen.globalAlpha = alpha;
    }
    const filled = Math.max(2, Math.min(1, look.share) * height);
    pen.fillStyle = look.colour;
    pen.fillRect(left, top + height - filled, width, filled);
  }
  if (look.isCrossed && w >= 5) drawCross(pen, left, top, width, height, style);
  if (w >= WITH_NAME) drawName(pen, name, left, top + h / 2, width, style);
  if (w >= WITH_AMOUNT[0] && h >= WITH_AMOUNT[1]) drawName(pen, look.describe(), left, top + h / 2 + 18, width, style);
  if (w >= WITH_LETTER && look.letter) drawLetter(pen, look, left, top, height, style);
  pen.globalAlpha = 1;
}

function drawCross(pen, x, y, w, h, style) {
  pen.strokeStyle = style.color;
  pen.lineWidth = 1;
  pen.beginPath();
  pen.moveTo(x, y + h);
  pen.lineTo(x + w, y);
  pen.stroke();
}

/** Writes on a plate, so that the text is readable on every colour. */
function drawName(pen, name, x, y, w, style) {
  pen.font = `11px ${style.fontFamily}`;
  const text = cutText(pen, showText(name), w - 8);
  pen.fillStyle = style.borderBottomColor;
  pen.fillRect(x + 2, y - 8, pen.measureText(text).width + 4, 16);
  pen.fillStyle = style.color;
  pen.fillText(text, x + 4, y);
}

/** Writes the letter of the legend in the upper left corner, which the filled part may reach. */
function drawLetter(pen, look, x, y, h, style) {
  const isFilled = look.share === null || (1 - look.share) * h < 9;
  pen.fillStyle = isFilled ? getTextColour(look.colour) : style.color;
  pen.font = "bold 11px monospace";
  pen.fillText(look.letter, x + 4, y + 8);
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
