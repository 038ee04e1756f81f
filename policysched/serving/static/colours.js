// Colours that people with colour blindness can tell apart: Okabe and Ito, "Color Universal Design"
// (2008). Colour is never the only sign: legends and tables say the same in words.

const CATEGORIES = ["#0072b2", "#d55e00", "#cc79a7", "#e69f00", "#56b4e9", "#7f5fa8", "#a6761d"];
const OTHER = "#8a8f98";
const FITS = "#009e73";
/** For a member cluster that passes the filters and gets nothing, so that those that get something stand out. */
const PASSES = "#c9cdd2";
/** From few to many: many is what differs most from the page. */
const STEPS = ["#9cc4e6", "#66a3d6", "#3580bd", "#125d97", "#083a66"];
const DARK_STEPS = ["#14517f", "#1d70a9", "#3f93cd", "#80b9e3", "#c0def5"];

/** Returns the colours of up to seven things; everything after them shares one grey. */
export function getCategoryColour(index) {
  return CATEGORIES[index] ?? OTHER;
}

/** Returns the step, from 0 to STEP_COUNT - 1, of a share from 0 to 1. */
export function findStep(share) {
  return Math.max(0, Math.min(STEPS.length - 1, Math.floor(share * STEPS.length)));
}

export function getStepColour(step, isDark) {
  return (isDark ? DARK_STEPS : STEPS)[step];
}

/** Returns black or white, whichever is easier to read on a colour such as "#0072b2". */
export function getTextColour(colour) {
  const [red, green, blue] = [1, 3, 5].map((at) => (Number.parseInt(colour.slice(at, at + 2), 16) / 255) ** 2.2);
  const luminance = 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  return luminance > 0.18 ? "#000000" : "#ffffff"; // where both have the same contrast
}

export const CATEGORY_COUNT = CATEGORIES.length;
export const STEP_COUNT = STEPS.length;
export { FITS, OTHER, PASSES };
