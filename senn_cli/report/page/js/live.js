// Follows the runs: asks what has changed since the state that the page shows, and draws it.
const followed = { ...data.live, late: false };
const told = el("p", { class: "live", role: "status" });
document.body.prepend(told);

function say(text, fault) {
  if (told.textContent !== text) told.textContent = text; // or it is read out again
  told.classList.toggle("fault", Boolean(fault));
}

// As `report/live/delta.py` says.
function carryOut(changes) {
  for (const [path, ...what] of changes) {
    const last = path[path.length - 1];
    const place = path.slice(0, -1).reduce((value, key) => value[key], data);
    if (what.length === 0) {
      delete place[last];
    } else if (what.length === 1) {
      place[last] = what[0];
    } else {
      place[last].length = what[0];
      for (const value of what[1]) place[last].push(value);
    }
  }
}

// A reader who holds a slider, or reads what a chart says, is not disturbed.
let held = false;
addEventListener("pointerdown", () => (held = true), true);
for (const end of ["pointerup", "pointercancel"]) addEventListener(end, () => (held = false), true);

function drawn() {
  if (!followed.late) return true;
  if (held || !tooltip.box.hidden) return false;
  draw();
  followed.late = false;
  return true;
}

function status() {
  const running = data.runs.filter((run) => run.status === "running").length;
  const going = running ? `${count(running, "run")} going on.` : "No run is going on.";
  return drawn() ? going : `${going} There is news: let go of the chart to see it.`;
}

async function look() {
  try {
    const answer = await fetch(`data?since=${followed.version}`, { cache: "no-store" });
    if (answer.status === 404) {
      return say("This address is no longer known: open the one that senn watch has printed.", true);
    }
    if (!answer.ok) throw new Error(answer.statusText);
    const found = await answer.json();
    if (found.whole) Object.assign(data, found.whole);
    else carryOut(found.changes);
    followed.late = followed.late || Boolean(found.whole) || found.changes.length > 0;
    followed.version = found.version;
    followed.wait = found.wait;
    say(status());
  } catch {
    say("senn watch does not answer; the page shows what came last, and asks again.", true);
  }
  setTimeout(look, 1000 * followed.wait * (document.hidden ? 5 : 1));
}

say(status());
setTimeout(look, 1000 * followed.wait);
