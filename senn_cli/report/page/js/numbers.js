// Numbers as people read them.
const RAISED = { "-": "\u207b", 0: "\u2070", 1: "\u00b9", 2: "\u00b2", 3: "\u00b3", 4: "\u2074", 5: "\u2075", 6: "\u2076", 7: "\u2077", 8: "\u2078", 9: "\u2079" };
const MINUS = "\u2212";

function power(exponent) {
  return "10" + [...String(exponent)].map((letter) => RAISED[letter]).join("");
}

function fixed(value, digits) {
  const text = Math.abs(value).toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });
  return (value < 0 && Number(value.toFixed(digits)) !== 0 ? MINUS : "") + text;
}

function whole(value) {
  return value === null || value === undefined ? "" : fixed(value, 0);
}

// `digits` significant digits, as 1,234 or 0.0123 or 1.2x10^-5.
function number(value, digits = 3) {
  if (value === null || value === undefined) return "";
  if (value === 0) return "0";
  const exponent = Math.floor(Math.log10(Math.abs(value)));
  if (exponent < -4 || exponent > 6) {
    const [mantissa, e] = value.toExponential(Math.max(0, digits - 1)).split("e");
    const short = mantissa.includes(".") ? mantissa.replace(/\.?0+$/, "") : mantissa;
    return `${short.replace("-", MINUS)}\u00d7${power(Number(e))}`;
  }
  const places = Math.max(0, digits - 1 - exponent);
  const text = fixed(value, places);
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}

function percent(value) {
  return value === null || value === undefined ? "" : `${fixed(100 * value, 2)}%`;
}

function count(value, one, many) {
  return `${whole(value)} ${value === 1 ? one : many || one + "s"}`;
}

// The largest of many; Math.max(...values) would put them all on the stack.
function greatest(values, start = -Infinity) {
  let found = start;
  for (const value of values) if (value !== null && value !== undefined && value > found) found = value;
  return found;
}

function least(values, start = Infinity) {
  let found = start;
  for (const value of values) if (value !== null && value !== undefined && value < found) found = value;
  return found;
}

// The place of the last of ascending `values` that is not above `value`; -1 where all are.
function lastUpTo(values, value) {
  let low = 0, high = values.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] <= value) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

function nearest(values, value) {
  const before = lastUpTo(values, value);
  if (before < 0) return 0;
  if (before + 1 >= values.length) return values.length - 1;
  return value - values[before] <= values[before + 1] - value ? before : before + 1;
}
