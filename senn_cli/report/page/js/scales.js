// Scales: `at` maps a value to 0..1, `ticks(n)` are about n values with their texts.
function stepOf(size, n) {
  const raw = size / Math.max(1, n);
  const decade = 10 ** Math.floor(Math.log10(raw));
  return [1, 2, 2.5, 5, 10].map((k) => k * decade).find((step) => step >= raw * 0.999);
}

function linear(min, max, { integer = false } = {}) {
  if (!(max > min)) max = min + (Math.abs(min) || 1);
  function ticks(n) {
    let step = stepOf(max - min, n);
    if (integer) step = Math.max(1, step === 2.5 ? 5 : Math.ceil(step));
    const found = [];
    for (let k = Math.ceil(min / step - 1e-9); k * step <= max + 1e-9 * step; k++) found.push(k * step);
    const large = Math.max(Math.abs(min), Math.abs(max));
    if (large < 1e-3) {
      const exponent = Math.floor(Math.log10(large));
      const digits = Math.max(0, exponent - Math.floor(Math.log10(step) + 1e-9) + (isHalf(step) ? 1 : 0));
      return found.map((v) => [v, Math.abs(v) < step / 2 ? "0" : `${fixed(v / 10 ** exponent, digits)}\u00d7${power(exponent)}`]);
    }
    const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9) + (isHalf(step) ? 1 : 0));
    return found.map((v) => [v, fixed(v, digits)]);
  }
  return { min, max, ticks, at: (v) => (v - min) / (max - min), back: (f) => min + f * (max - min) };
}

// Whether a step is 2.5 times a power of ten, which needs one more digit.
function isHalf(step) {
  return Math.abs(step / 10 ** Math.floor(Math.log10(step) + 1e-9) - 2.5) < 1e-6;
}

function logText(value) {
  const exponent = Math.round(Math.log10(value));
  const exact = Math.abs(value / 10 ** exponent - 1) < 1e-6;
  if (value >= 1e-3 && value < 1e5) return fixed(value, Math.max(0, -Math.floor(Math.log10(value) + 1e-9)));
  if (exact) return power(exponent);
  const low = Math.floor(Math.log10(value) + 1e-9);
  return `${fixed(value / 10 ** low, 0)}\u00d7${power(low)}`;
}

function logarithmic(min, max) {
  const a = Math.log10(min), b = Math.log10(max) > Math.log10(min) ? Math.log10(max) : Math.log10(min) + 1;
  function ticks(n) {
    const found = [];
    const decades = Math.floor(b) - Math.ceil(a) + 1;
    const factors = decades >= 3 ? [1] : b - a > 1.2 ? [1, 2, 5] : [1, 1.5, 2, 3, 4, 5, 6, 7, 8, 9];
    const stride = Math.max(1, Math.ceil(decades / Math.max(2, n)));
    for (let e = Math.floor(a); e <= b; e++) {
      if (factors.length === 1 && ((e % stride) + stride) % stride) continue;
      for (const factor of factors) {
        const value = factor * 10 ** e;
        if (Math.log10(value) >= a - 1e-9 && Math.log10(value) <= b + 1e-9) {
          found.push([value, factor === 1.5 ? number(value, 2) : logText(value)]);
        }
      }
    }
    return found;
  }
  return { min, max, ticks, log: true, at: (v) => (Math.log10(v) - a) / (b - a), back: (f) => 10 ** (a + f * (b - a)) };
}

// Logarithmic away from zero and linear within +-`small`: gains may be negative.
function symmetric(min, max, small) {
  const warp = (v) => Math.sign(v) * Math.log10(1 + Math.abs(v) / small);
  const a = warp(min), b = warp(max);
  function ticks() {
    const found = [0];
    for (let e = Math.round(Math.log10(small)); 10 ** e <= Math.max(-min, max); e++) {
      if (10 ** e <= max) found.push(10 ** e);
      if (-(10 ** e) >= min) found.push(-(10 ** e));
    }
    found.sort((x, y) => x - y);
    return found.map((v) => [v, v === 0 ? "0" : (v < 0 ? MINUS : "") + logText(Math.abs(v))]);
  }
  return { min, max, ticks, at: (v) => (warp(v) - a) / (b - a) };
}

// Logarithmic where all are positive and far apart, else linear around them.
function lossScale(values) {
  const low = least(values), high = greatest(values);
  if (low > 0 && high > 20 * low) return logarithmic(low / 1.15, high * 1.15);
  const room = 0.06 * (high - low || Math.abs(high) || 1);
  return linear(low >= 0 ? Math.max(0, low - room) : low - room, high + room);
}
