// Groups of runs that differ in the seed alone: the mean as a line, the range as a band.
function bandArea(points, low, high) {
  const there = points.map((x, k) => [x, low[k], high[k]]).filter(([, value]) => value !== null);
  if (!there.length) return "";
  const over = there.map(([x, , top]) => `${tenth(x)} ${tenth(top)}`);
  const under = there.map(([x, bottom]) => `${tenth(x)} ${tenth(bottom)}`).reverse();
  return `M${[...over, ...under].join("L")}Z`;
}

function bandChart(label, { title, shown, form, scale, off }) {
  return chart(label, (width) => {
    const groups = shown.filter(({ key }) => !off.has(key));
    const values = groups.flatMap(({ told }) => [...told.low, ...told.high]).filter((value) => value !== null);
    const at = ({ run, group }) => group.steps.map((step) => unitOf(run, step));
    const x = linear(0, greatest(shown.flatMap(at), 0)), y = values.length ? scale(values) : linear(0, 1);
    const frame = axes({ width, height: 190, x, y, yTitle: title, xTitle: unitTitle() });
    const onto = (column) => column.map((value) => (value === null ? null : frame.py(value)));
    for (const each of groups) {
      const xs = at(each).map(frame.px), { mean, low, high } = each.told;
      frame.root.append(svg("path", { class: "spread", "data-group": each.key, d: bandArea(xs, onto(low), onto(high)), style: `fill:${each.paint}` }));
      const means = xs.map((value, k) => [value, mean[k]]).filter(([, value]) => value !== null);
      curve(frame, means.map(([value, found]) => [value, frame.py(found)]), each.paint, 0);
    }
    const places = groups.reduce((longest, each) => (greatest(at(each), 0) > greatest(longest, 0) ? at(each) : longest), []);
    hover(frame, places.length,
      (px) => (places.length ? nearest(places, x.back((px - frame.left) / (frame.right - frame.left))) : -1),
      (place) => ({
        x: frame.px(places[place]), y: frame.top + 10,
        lines: [[`${settings.unit} ${number(places[place], 4)}`, "strong"], ...groups.flatMap((each) => {
          const k = nearest(at(each), places[place]), { mean, low, high, count: runs } = each.told;
          if (mean[k] === null) return [];
          return [[`${each.text}: ${form(mean[k])}`, null, each.paint], [`from ${form(low[k])} to ${form(high[k])}, ${count(runs[k], "run")}`, "weak"]];
        })],
      }));
    return frame.root;
  });
}

function groupsSection(data) {
  if (!data.groups.length) return null;
  const off = keep("groups", () => new Set());
  const paint = (k) => colour(k, data.groups.length);
  const hosts = OVERLAYS.map(([column, title, form, scale]) => {
    const shown = data.groups.map((group, k) => ({ group, key: String(k), text: shortly(group.text), paint: paint(k), told: group.curves[column], run: data.runs[group.runs[0]] })).filter(({ told }) => told);
    if (!shown.length) return null;
    const unit = unitAfter(column, shown.map(({ run }) => run));
    return bandChart(`${title + unit} of all groups`, { title: title + unit, shown, form, scale, off });
  }).filter(Boolean);
  const entries = data.groups.map((group, k) => ({ key: String(k), text: shortly(group.text, 90), title: group.text, sign: swatch(paint(k)) }));
  return section("overview-groups", "Spread over seeds",
    el("p", { class: "soft" }, "Runs whose specs differ in the seed and the name alone are one group: the line is their mean, the band goes from the least to the greatest, each of the runs that had come so far."),
    legend(entries, off, () => hosts.forEach((host) => host.redraw(true))),
    hosts);
}
