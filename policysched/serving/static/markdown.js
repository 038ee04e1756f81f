// The little Markdown that hover and completion use, as elements: paragraphs, lists, code, emphasis.

import { html } from "./html.js";

const INLINE = /(`[^`]+`|\*\*[^*]+\*\*)/;

/** Returns the elements of a Markdown text; nothing in it becomes markup of the page. */
export function Markdown({ text }) {
  const blocks = text.split(/(```[^\n]*\n[\s\S]*?```)/).flatMap((part, index) =>
    index % 2 ? [{ code: part.replace(/^```[^\n]*\n|```$/g, "") }] : splitBlocks(part),
  );
  return blocks.map((block) => {
    if (block.code !== undefined) return html`<pre>${block.code}</pre>`;
    if (block.items) return html`<ul>${block.items.map((item) => html`<li>${showInline(item)}</li>`)}</ul>`;
    return html`<p>${showInline(block.text)}</p>`;
  });
}

function splitBlocks(part) {
  return part
    .split(/\n\s*\n/)
    .filter((block) => block.trim())
    .map((block) => {
      const lines = block.trim().split("\n");
      const isList = lines.every((line) => /^\s*[-*] /.test(line));
      return isList
        ? { items: lines.map((line) => line.replace(/^\s*[-*] /, "")) }
        : { text: block.trim().replace(/^#+ /, "") };
    });
}

function showInline(text) {
  return text.split(INLINE).map((part, index) => {
    if (index % 2 === 0) return part;
    if (part.startsWith("`")) return html`<code>${part.slice(1, -1)}</code>`;
    return html`<b>${part.slice(2, -2)}</b>`;
  });
}
