// Addresses of views lie in the fragment, which browsers do not send: names get into no log.

import { words } from "./words.js";

/** The pod, or binding, that the reader looks at: views of its nodes lead back to it. */
let currentPod = "";

/** Returns the pod that was open before the view of a node; "" if there was none. */
export function getCurrentPod() {
  return currentPod;
}

/** Returns { address: "#/pods/prod/web-0", path: ["pods", "prod", "web-0"], options } of the address bar. */
export function readRoute() {
  const [text, query] = location.hash.replace(/^#\/?/, "").split("?");
  const path = text.split("/").map(decodePart).filter(Boolean);
  const options = new URLSearchParams(query ?? "");
  if (["pods", "bindings"].includes(path[0])) currentPod = path.slice(1).join("/");
  else if (!["nodes", "clusters"].includes(path[0])) currentPod = options.get("pod") ?? "";
  return { address: location.hash, path, options };
}

function decodePart(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** Returns the address of a view, such as `makeAddress(["nodes", "web-a1"])`. */
export function makeAddress(path, options = {}) {
  const query = new URLSearchParams(
    Object.entries(options).filter(([, value]) => value !== undefined && value !== ""),
  ).toString();
  return `#/${path.map(encodeURIComponent).join("/")}${query && `?${query}`}`;
}

/** Returns the address of a pod called `namespace/name`, or of a binding. */
export function makePodAddress(pod, options = {}) {
  return makeAddress([words.podPath, ...pod.split("/")], options);
}

export function makeNodeAddress(node, options = {}) {
  return makeAddress([words.nodePath, node], options);
}

/** Returns the address of the text of a rule: `POLICY/RULE`. */
export function makeRuleAddress(rule) {
  return makeAddress(["rules", ...rule.split("/")]);
}

export function go(address) {
  location.hash = address;
}
