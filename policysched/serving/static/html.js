// The `html` of all views. It makes every text visible, so that no view can forget it.

import { html as makeElements } from "./vendor/preact.js";
import { showText } from "./visible.js";

/** Attributes whose text goes back into questions and addresses. */
const KEPT = new Set(["children", "value"]);

/** Makes elements from a template; texts among the values never become markup. */
export function html(strings, ...values) {
  return showParts(makeElements(strings, ...values));
}

/** Makes texts and attributes of elements visible; components get their values as they are. */
function showParts(made) {
  if (typeof made === "string") return showText(made);
  if (Array.isArray(made)) return made.map(showParts);
  if (typeof made?.type === "string") {
    for (const [name, value] of Object.entries(made.props)) {
      if (name === "children") made.props.children = showParts(value);
      else if (typeof value === "string" && !KEPT.has(name)) made.props[name] = showText(value);
    }
  }
  return made;
}
