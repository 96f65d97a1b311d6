// Calibration: whether a network that is 80% sure is right in 80% of the cases.
function calibrationChart(found) {
  const bins = found.calibration, most = greatest(bins.count, 1);
  return chart("Accuracy over confidence, with the line of a calibrated network", (whole_) => {
    const width = Math.min(whole_, 460);
    const low = 10 * Math.floor(10 * least(bins.low, 1));
    const inner = linear(0, 100), x = linear(low, 100);
    const frame = axes({ width, height: 0.62 * width, x, y: inner, xTitle: "confidence (%)", yTitle: "accuracy (%)" });
    frame.root.append(svg("line", { class: "tau", x1: frame.px(low), y1: frame.py(low), x2: frame.px(100), y2: frame.py(100) }));
    const points = bins.confidence.map((value, k) => [frame.px(100 * value), frame.py(100 * bins.accuracy[k])]);
    curve(frame, points, "var(--c0)", 0);
    points.forEach(([a, b], k) => frame.root.append(svg("path", { "data-bin": k, d: MARKS.circle(tenth(a), tenth(b), tenth(2 + 6 * Math.sqrt(bins.count[k] / most))), style: "fill:var(--c0);fill-opacity:0.75;stroke:var(--paper)" })));
    hover(frame, points.length,
      nearby(points, 24),
      (k) => ({
        x: points[k][0], y: points[k][1], ring: true,
        lines: [
          [`${percent(bins.low[k])} to ${percent(bins.high[k])} sure`, "strong"],
          [`${count(bins.count[k], "example")}, right in ${percent(bins.accuracy[k])}`],
          [`mean confidence ${percent(bins.confidence[k])}`, "weak"],
        ],
      }));
    return frame.root;
  });
}

function calibrationPart(found) {
  if (!found.calibration || !found.calibration.count.length) return null;
  return [
    el("h3", {}, "Calibration"),
    el("p", { class: "soft" }, `Answers by how sure the network was, larger dots for more of them; on the dashed line it is as often right as it is sure. The expected calibration error is ${number(found.calibration.error)}: the mean distance of all answers from the line.`),
    calibrationChart(found),
  ];
}
