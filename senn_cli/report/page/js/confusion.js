// Which class is taken for which: a cell a pair of classes, or of many classes the worst mistakes.

// A text that is cut with an ellipsis where it is longer than so many pixels.
function clipped(text, room) {
  if (measure(text) <= room) return text;
  const letters = [...text];
  while (letters.length > 1 && measure(`${letters.join("")}\u2026`) > room) letters.pop();
  return `${letters.join("")}\u2026`;
}

function confusionChart(found) {
  const { classes, confusion } = found, n = classes.length;
  const totals = confusion.map((row) => row.reduce((a, b) => a + b, 0));
  return chart("Confusion matrix: rows are the true classes, columns the answers", (width) => {
    const longest = greatest(classes.map((name) => measure(name)), 0);
    const left = Math.ceil(Math.min(longest, width / 4, 130)) + 10;
    const size = Math.max(4, Math.min(46, (width - left - 2) / n));
    const flat = longest < size - 4;
    const top = 22 + (flat ? 18 : Math.ceil(Math.min(longest, 110)) + 8);
    const right = left + n * size, height = top + n * size + 6;
    const root = svg("svg", { width, height, viewBox: `0 0 ${width} ${height}` });
    root.append(svg("text", { class: "axis-title", x: 0, y: 12 }, width > 420 ? "rows: the true class; columns: the answer" : "rows: true; columns: answers"));
    const every = Math.ceil(13 / size);
    classes.forEach((name, k) => {
      if (k % every) return;
      const at = (k + 0.5) * size;
      root.append(svg("text", { x: left - 7, y: tenth(top + at + 4), "text-anchor": "end" }, clipped(name, left - 10)));
      const text = clipped(name, flat ? size : 110), x = tenth(left + at);
      root.append(flat ? svg("text", { x, y: top - 7, "text-anchor": "middle" }, text)
        : svg("text", { x: x + 4, y: top - 7, transform: `rotate(-90 ${x + 4} ${top - 7})` }, text));
    });
    confusion.forEach((row, i) => row.forEach((value, j) => {
      const x = left + j * size, y = top + i * size, share = totals[i] ? value / totals[i] : 0;
      const opacity = value ? 0.1 + 0.5 * share : 0;
      root.append(svg("rect", { x: tenth(x), y: tenth(y), width: tenth(size), height: tenth(size), "data-cell": `${i},${j}`, class: "cell", style: `fill:var(--${i === j ? "c2" : "c5"});fill-opacity:${opacity.toFixed(3)}` }));
      const text = whole(value);
      if (value && size > 15 && measure(text) < size - 3) root.append(svg("text", { class: "axis-title", x: tenth(x + size / 2), y: tenth(y + size / 2 + 4), "text-anchor": "middle" }, text));
    }));
    const mark = svg("rect", { class: "ring", width: tenth(size), height: tenth(size) });
    root.append(mark);
    hover({ root, point: (told) => {
      mark.classList.toggle("on", Boolean(told));
      if (told) [["x", told.x - size / 2], ["y", told.y - size / 2]].forEach(([name, value]) => mark.setAttribute(name, tenth(value)));
    } }, n * n,
    (px, py) => (px < left || py < top || px >= right || py >= top + n * size ? -1 : Math.floor((py - top) / size) * n + Math.floor((px - left) / size)),
    (place) => {
      const i = Math.floor(place / n), j = place % n, value = confusion[i][j];
      return {
        x: left + (j + 0.5) * size, y: top + (i + 0.5) * size,
        lines: [
          [`${classes[i]} ${i === j ? "recognised" : `taken for ${classes[j]}`}`, "strong"],
          [`${count(value, "example")}${totals[i] ? `, ${percent(value / totals[i])} of its ${whole(totals[i])}` : ""}`],
        ],
      };
    });
    return root;
  });
}

function confusionPart(found) {
  if (found.confusion) return [el("h3", {}, "Which class is taken for which"), confusionChart(found)];
  if (!found.mistakes.length) return null;
  return [
    el("h3", {}, "The most frequent mistakes"),
    plainTable(["class", "taken for", "examples"], found.mistakes.map(([own, other, times]) => [own, other, whole(times)])),
  ];
}
