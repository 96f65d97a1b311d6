// Signs as paths, so that thousands of one look are one element.
const MARKS = {
  circle: (x, y, r) => `M${x - r} ${y}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0`,
  diamond: (x, y, r) => `M${x} ${y - 1.2 * r}l${1.2 * r} ${1.2 * r}l${-1.2 * r} ${1.2 * r}l${-1.2 * r} ${-1.2 * r}z`,
  up: (x, y, r) => `M${x} ${y - r}l${r} ${1.8 * r}h${-2 * r}z`,
  down: (x, y, r) => `M${x} ${y + r}l${r} ${-1.8 * r}h${-2 * r}z`,
  cross: (x, y, r) => `M${x - r} ${y - r}l${2 * r} ${2 * r}m0 ${-2 * r}l${-2 * r} ${2 * r}`,
};

const tenth = (value) => Math.round(10 * value) / 10;

// One path for all points; those that would cover each other to the pixel are drawn once.
function signs(shape, points, size) {
  const seen = new Set();
  const parts = [];
  for (const [x, y] of points) {
    const place = `${Math.round(x / 1.5)},${Math.round(y / 1.5)}`;
    if (seen.has(place)) continue;
    seen.add(place);
    parts.push(MARKS[shape](tenth(x), tenth(y), size));
  }
  return parts.join("");
}
