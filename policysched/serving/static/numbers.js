// Amounts as people write them.

const NUMBERS = new Intl.NumberFormat("en", { maximumFractionDigits: 2 });
const BINARY = ["", "Ki", "Mi", "Gi", "Ti", "Pi"];

/**
 * Returns an amount of a resource: `1.5` CPUs of 1500, `4Gi` of bytes, else the number. Amounts that
 * are read together get the unit of the largest one, `like`.
 */
export function formatAmount(resource, amount, like = amount) {
  if (amount === 0) return "0";
  const [size, unit] = findUnit(resource, like);
  return `${formatScaled(amount / size)}${unit}`;
}

/** Returns the size and the name of the unit in which an amount of a resource is easy to read. */
export function findUnit(resource, amount) {
  if (resource === "cpu") return [1000, ""];
  if (!/memory|storage|hugepages/.test(resource)) return [1, ""];
  let step = 0;
  while (Math.abs(amount) >= 1024 ** (step + 1) && step < BINARY.length - 1) step += 1;
  return [1024 ** step, BINARY[step]];
}

/** Returns a number that is not 0 as `< 0.01` rather than as 0. */
export function formatScaled(number) {
  return number > 0 && number < 0.005 ? "< 0.01" : formatNumber(number);
}

export function formatNumber(number) {
  return NUMBERS.format(number);
}

export function formatShare(used, of) {
  return of > 0 ? `${Math.round((100 * used) / of)} %` : "–";
}

/** Returns what a number is more or less than another: `+5`, `−5` or `same`. */
export function formatDifference(number) {
  return number === 0 ? "same" : `${number > 0 ? "+" : "−"}${formatNumber(Math.abs(number))}`;
}

/** Returns `1 node`, `2 nodes`. */
export function formatCount(number, noun) {
  return `${formatNumber(number)} ${noun}${number === 1 ? "" : "s"}`;
}

/** Returns by how much numbers differ. */
export function computeSpread(numbers) {
  return Math.max(...numbers) - Math.min(...numbers);
}

const AGES = [[86400, "d"], [3600, "h"], [60, "min"]];

/** Returns the time between two ISO 8601 times as `4 min`, in its largest unit. */
export function formatAge(since, now) {
  return formatSeconds(Math.max(0, (Date.parse(now) - Date.parse(since)) / 1000));
}

/** Returns seconds as `4 min`, in their largest unit. */
export function formatSeconds(seconds) {
  const [size, unit] = AGES.find(([size]) => seconds >= size) ?? [1, "s"];
  return `${Math.floor(seconds / size)} ${unit}`;
}

/** Returns the time of day of an ISO 8601 time, in the time zone of the reader. */
export function formatTime(time) {
  return new Date(time).toLocaleTimeString("en-GB");
}

/** Returns an ISO 8601 time as `28 Nov 2026, 10:05:00`, in the time zone of the reader. */
export function formatMoment(time) {
  return time === "" ? "an unknown time" : new Date(time).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "medium" });
}
