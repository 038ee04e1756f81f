// Errors as the commands print them, with the lines of the policy that they are about.

import { html } from "../html.js";

/** The lines of an error that show a place in a policy. */
const FRAME = /^\s*(\d*\s*\||-->)/;

/** Long lines of an error go on in the next line, but those of a policy scroll: carets stay below their word. */
export function ErrorText({ text, role = "alert" }) {
  const parts = [];
  for (const line of text.split("\n")) {
    const isFrame = FRAME.test(line);
    if (parts.at(-1)?.isFrame === isFrame) parts.at(-1).text += `\n${line}`;
    else parts.push({ isFrame, text: line });
  }
  return html`<pre class="error" role=${role} aria-label="Errors" tabindex="0">${parts.map((part) => html`<span class=${part.isFrame ? "frame" : "wrapped"} tabindex=${part.isFrame ? "0" : undefined}>${part.text}</span>`)}</pre>`;
}
