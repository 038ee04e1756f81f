// Where an edited text comes from, and how the edit gets there. The page itself cannot write.

import { html } from "../html.js";
import { useState } from "../vendor/preact.js";
import { findConfigMaps, makePatches } from "../kubectl.js";
import { CopyButton } from "./copy_button.js";

/** Paths that a shell takes as they are. */
const PLAIN_PATH = /^[\w./-]+$/;

/** Says where each text belongs. The policies of the demo are in no place of the user. */
export function Sources({ names, files, origin, isDemo }) {
  if (isDemo) return html`<p class="quiet">The demo has copies of the policies. A downloaded file belongs in a folder of your own: policysched check FOLDER checks it, and policysched ui --policies FOLDER shows it.</p>`;
  return names.map((name) => html`<${Source} name=${name} files=${files} origin=${origin} />`);
}

/** Says in which file or ConfigMap the text `name` belongs. */
function Source({ name, files, origin }) {
  if (name === undefined) return null;
  const map = findConfigMaps(files, origin).of(name);
  const known = files.find((each) => each.name === name);
  const file = known?.file;
  if (map !== "") {
    const manifest = file && html` Change <b>${file}</b> as well: applied again, it takes the edit back.`;
    return html`<p class="quiet">Key ${name.split("/").at(-1)} of the ConfigMap <b>${map}</b>: the button kubectl has the command that edits it.${manifest}</p>`;
  }
  if (!known) return html`<p class="quiet"><b>${name}</b> is new: put the downloaded file beside the other policies.</p>`;
  if (!file) return html`<p class="quiet">The source of ${name} is <b>${origin}</b>: put the downloaded file there.</p>`;
  return html`<p class="quiet">The source is the file <b>${file}</b>: put the downloaded file in its place.</p>`;
}

/** How kubectl takes an edit to a cluster; nothing for texts that are in no place of the user. */
export function Kubectl({ drafts, hasError, files, origin, isDemo }) {
  const [isOpen, setIsOpen] = useState(false);
  const configMaps = findConfigMaps(files, origin);
  const isPatch = configMaps.names.length > 0;
  const areFiles = files.length > 0 && files.every(({ file }) => PLAIN_PATH.test(file ?? ""));
  if (isDemo || (!isPatch && !areFiles)) return null;
  const shown = isPatch ? html`<${Patches} patches=${makePatches(configMaps, files, drafts.inUse, drafts.texts)} />` : html`<${NewConfigMap} files=${files} />`;
  return html`<button aria-expanded=${isOpen} disabled=${!drafts.isEdited} onClick=${() => setIsOpen(!isOpen)}>kubectl</button>
    ${isOpen && drafts.isEdited && html`<div class="difference">
      ${hasError ? html`<p class="error">The policies have an error. Correct it before they go to a cluster.</p>` : shown}
    </div>`}`;
}

function Patches({ patches }) {
  return html`<p>Save the patch, and run the command below it, which changes the ConfigMap in the cluster; with --dry-run=server it changes nothing. The API server refuses the patch if another user has edited the same text.</p>
    ${patches.map(
      ({ command, file, patch }) => html`<button onClick=${() => download(file, JSON.stringify(patch, null, 2))}>save ${file}</button>
        <${Command} text=${command} />`,
    )}`;
}

/** The command for files that a ConfigMap has as keys; the page does not know which ConfigMap. */
function NewConfigMap({ files }) {
  const from = files.map(({ file }) => `--from-file ${file}`).join(" ");
  return html`<p>If the scheduler reads a ConfigMap, put each downloaded file in its place, and run this command with the name of the ConfigMap. Its first part writes nothing (--dry-run=client): it makes the ConfigMap of these files. The second part, kubectl apply, writes it to the cluster and replaces all its keys:</p>
    <${Command} text=${`kubectl create configmap NAME --namespace NAMESPACE ${from} --dry-run=client -o yaml | kubectl apply -f -`} />`;
}

function Command({ text }) {
  return html`<pre class="wraps" tabindex="0">${text}</pre>
    <${CopyButton} text=${text} />`;
}

/** Saves a text as a file of the browser. */
export function download(name, text) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
  link.download = name.split("/").at(-1);
  link.click();
  URL.revokeObjectURL(link.href);
}
