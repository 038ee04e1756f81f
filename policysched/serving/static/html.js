// The `html` of all views. It makes every text visible, so that no view can forget it.

import { h as makeElement, html as makeElements } from "./vendor/preact.js";
import { showText } from "./visible.js";

/** Attributes whose text goes back into questions and addresses. */
const KEPT = new Set(["children", "value"]);

/** Makes elements from a template; texts among the values never become markup. */
export function html(strings, ...values) {
  return showParts(makeElements(strings, ...values));
}

/**
 * Makes texts and attributes of elements visible; components get their values as they are.
 *
 * Elements are made again: the parts of a template that never change are made once for all, and
 * would refer to the elements around them of the first time, which would be kept as well.
 */
function showParts(made) {
  if (typeof made === "string") return showText(made);
  if (Array.isArray(made)) return made.map(showParts);
  if (!made?.props || made.isShown) return made;
  const props = typeof made.type === "string" ? showAttributes(made.props) : { ...made.props };
  return Object.assign(makeElement(made.type, props), { key: made.key, ref: made.ref, isShown: true });
}

function showAttributes(props) {
  const shown = { ...props };
  for (const [name, value] of Object.entries(props)) {
    if (name === "children") shown.children = showParts(value);
    else if (typeof value === "string" && !KEPT.has(name)) shown[name] = showText(value);
  }
  return shown;
}
