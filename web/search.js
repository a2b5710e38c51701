// A search: its trials, what counts, and the best. In one script with page.js.

const isShare = () => data.is_share;
const valueText = (v, step) => v === null || v === undefined ? "-"
  : isShare() ? decimals(100 * v, 2, step ? 100 * step : 0) + " %" : String(Number(v.toPrecision(4)));
const better = (a, b) => data.higher_is_better ? a > b : a < b;
/** The best first; those that have come to nothing yet last. */
const ranked = () => [...data.trials].sort((a, b) => a.best === undefined ? 1 : b.best === undefined ? -1
  : better(a.best, b.best) ? -1 : better(b.best, a.best) ? 1 : a.trial - b.trial);

function searchHead() {
  const s = data.settings;
  const how = [s.sampler, s.halving ? `one of ${s.halving} goes on` : null].filter((w) => w).join(", ");
  const state = data.live && !connected ? "no answer any more" : data.running ? "searching" : "ended";
  return make("header", {}, make("div", {class: "head"}, make("h1", {}, data.name),
    make("span", {class: "chip" + (data.running && connected ? " live" : ""), id: "state"}, state)),
  make("div", {class: "quiet"}, `${data.network} on ${data.data}: ${data.metric} by ${how}`));
}
function searchFacts() {
  const list = [];
  const add = (name, value, id, more) => list.push(make("div", {class: "fact"}, make("span", {class: "quiet small"}, name),
    make("b", {id}, value), more ? make("span", {class: "quiet small"}, more) : null));
  if (data.best) add("best " + data.metric, valueText(data.best.best), "best", `trial ${data.best.trial}`);
  const states = (...names) => data.trials.filter((t) => names.includes(t.state)).length;
  const failed = states("failed");
  add("trials", count(data.trials.length), "trials", [states("running") ? `${states("running")} running` : null,
    states("paused") ? `${states("paused")} paused` : null, failed ? `${failed} failed` : null].filter((w) => w).join(", "));
  add("epochs", count(data.epochs));
  add("time", time(data.time.wall), null, `of trials ${time(data.time.busy)}`);
  if (data.time.hosts > 1) add("speed-up", data.time.speed_up.toFixed(2) + " x", "speed-up", `over one of ${data.time.hosts} hosts`);
  return make("div", {class: "facts"}, list);
}
/** What was best after so many seconds. */
function bestOverTime() {
  const scores = data.trials.flatMap((t) => t.scores.map(([, value, at]) => [at, value])).sort((a, b) => a[0] - b[0]);
  if (scores.length < 2) return null;
  let best = null;
  const values = scores.map(([, value]) => { if (best === null || better(value, best)) best = value; return best; });
  return curve("best", `best ${data.metric} so far`, scores.map(([at]) => at), [{name: "best so far", values, stairs: true},
    {name: "every epoch of every trial", values: scores.map(([, value]) => value), dots: true}],
  {x: "second", format: valueText, size: 64});
}
/** Where a value stands on its axis, from 0 to 1. */
function placeOn(parameter, text) {
  if (parameter.choices) {
    const at = parameter.choices.indexOf(text);
    return parameter.choices.length === 1 ? 0.5 : at / (parameter.choices.length - 1);
  }
  const scale = parameter.log ? Math.log : (x) => x;
  return (scale(Number(text)) - scale(parameter.low)) / (scale(parameter.high) - scale(parameter.low));
}
/** One line for each trial, from value to value to what it came to. */
function parallel() {
  const list = ranked().filter((t) => t.best !== undefined);
  if (list.length < 2) return null;
  const [top, height, left] = [30, 250, 60];
  const axes = data.parameters.length + 1;
  const apart = Math.max(120, Math.min(220, (1040 - left) / axes));
  const width = left + apart * (axes - 1) + 90;
  const x = (i) => left + i * apart;
  const y = (place) => top + height * (1 - place);
  const values = list.map((t) => t.best);
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const good = (v) => high === low ? 0.5 : (v - low) / (high - low);
  const lines = list.map((trial, rank) => {
    const points = data.parameters.map((p, i) => trial.values[p.key] === undefined ? null
      : [x(i), y(placeOn(p, trial.values[p.key]))]);
    points.push([x(axes - 1), y(good(trial.best))]);
    // What a condition has switched off is passed by.
    const there = points.filter((p) => p !== null);
    const path = there.map(([px, py], i) => (i ? "L" : "M") + px.toFixed(1) + " " + py.toFixed(1)).join("");
    const shade = rank === 0 ? 1 : 0.12 + 0.6 * (1 - rank / list.length) ** 2;
    return make("path", {d: path, fill: "none", stroke: `var(--${rank === 0 ? "s1" : "s0"})`, "stroke-opacity": shade.toFixed(2),
      "stroke-width": rank === 0 ? 3 : 1.6}, make("title", {}, `trial ${trial.trial}: ${valueText(trial.best)}; ` +
        data.parameters.filter((p) => trial.values[p.key] !== undefined).map((p) => `${p.option} ${trial.values[p.key]}`).join(", ")));
  }).reverse();  // the best on top
  const label = (i, place, text) => make("text", {x: x(i) - 6, y: y(place) + 4, "text-anchor": "end"}, text);
  const scales = data.parameters.map((p, i) => make("g", {}, make("line", {class: "grid", x1: x(i), x2: x(i), y1: top, y2: top + height}),
    make("text", {x: x(i), y: 16, "text-anchor": "middle"}, p.option + (p.log ? " (log)" : "")),
    p.choices ? p.choices.map((c) => label(i, placeOn(p, c), c)) : [label(i, 0, String(p.low)), label(i, 1, String(p.high))]));
  const end = make("g", {}, make("line", {class: "grid", x1: x(axes - 1), x2: x(axes - 1), y1: top, y2: top + height}),
    make("text", {x: x(axes - 1), y: 16, "text-anchor": "middle"}, data.metric),
    [0, 0.5, 1].map((place) => make("text", {x: x(axes - 1) + 6, y: y(place) + 4}, valueText(low + place * (high - low)))));
  return card("What leads where", make("div", {class: "scroll"}, make("svg", {id: "parallel", viewBox: `0 0 ${width} ${top + height + 12}`,
    style: `display:block;width:100%;max-width:${width}px;min-width:${Math.min(width, 640)}px`, role: "img",
    "aria-label": `${list.length} trials by their values and ${data.metric}`}, scales, end, lines)),
  make("p", {class: "quiet small"}, "A line for each trial; the darker, the better, and the best one in red."));
}
function importance() {
  const list = data.importance || [];
  if (!list.length) return null;
  const most = Math.max(0.01, ...list.map((one) => one.share));
  return card("What counts", make("div", {class: "bars", id: "importance"}, list.map((one) => barRow(one.key,
    make("div", {class: "bar"}, make("span", {class: "backward", style: `width:${100 * one.share / most}%`})), percent(one.share)))),
  make("p", {class: "quiet small"}, "The share of the differences between trials that a parameter explains by itself" +
    (data.rungs.length > 1 ? `, after ${data.rungs[0]} epoch${data.rungs[0] === 1 ? "" : "s"}.` : ".")));
}
function trialTable() {
  const several = data.time.hosts > 1;
  const rows = ranked().slice(0, 200).map((t) => make("tr", {},
    make("td", {}, data.live ? make("a", {href: `run/${String(t.trial).padStart(4, "0")}/` + location.search}, String(t.trial)) : String(t.trial)),
    make("td", {}, valueText(t.best)), make("td", {}, String(t.epochs)), make("td", {title: t.message || ""}, t.state),
    make("td", {class: "hide-small"}, time(t.seconds)), several ? make("td", {class: "hide-small"}, t.host) : null,
    data.parameters.map((p) => make("td", {}, t.values[p.key] ?? ""))));
  const names = ["trial", data.metric, "epochs", "state"];
  return card("Trials", make("div", {class: "scroll"}, make("table", {id: "trials-table"}, make("thead", {}, make("tr", {},
    names.map((n) => make("th", {}, n)), make("th", {class: "hide-small"}, "time"),
    several ? make("th", {class: "hide-small"}, "host") : null, data.parameters.map((p) => make("th", {}, p.option)))),
  make("tbody", {}, rows))), data.trials.length > 200 ? make("p", {class: "quiet small"}, `and ${data.trials.length - 200} more`) : null);
}
function searchParts() {
  const best = bestOverTime();
  if (best) pending.push(best.fit);
  return [searchHead(), searchFacts(), side(best ? card("Best against time", best.box) : null, importance()), parallel(), trialTable(),
    data.best ? card("The best, as a job", make("pre", {}, `syrtos train ${data.best.job}`)) : null];
}
