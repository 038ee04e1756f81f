// What differs between two sets of policy texts.

import { html } from "../html.js";
import { diffLines, keepChanges, markWords } from "../diff.js";

/** Shows how texts [{ name, text }] differ, file by file; `none` stands for no difference. */
export function Changes({ from, to, none }) {
  const names = [...new Set([...from, ...to].map((each) => each.name))].sort();
  const read = (texts, name) => texts.find((each) => each.name === name)?.text ?? "";
  const changed = names.filter((name) => read(from, name) !== read(to, name));
  return html`${changed.length === 0 && html`<p>${none}</p>`}
    ${changed.map(
      (name) => html`<p>${name}</p>
        <pre class="diff wraps" tabindex="0">
          ${markWords(keepChanges(diffLines(read(from, name), read(to, name)))).map((line) => html`<span class=${{ "-": "removed", "+": "added" }[line.mark]}>${line.mark} ${line.parts.map(({ text, isChanged }) => (isChanged ? html`<b>${text}</b>` : text))}${"\n"}</span>`)}
        </pre>`,
    )}`;
}
