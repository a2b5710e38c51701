// Draws the page of a run from one object: written into the page, or polled while a run goes on.

const PARTS = ["load", "forward", "backward", "update", "network", "wait", "bubble", "evaluate", "checkpoint",
  "other"];
const WORDS = {load: "waiting for data", forward: "forward", backward: "backward", update: "update",
  network: "exposed exchange", wait: "waiting for others", bubble: "waiting for another part", evaluate: "evaluating",
  checkpoint: "saving", other: "other"};
const WHOLE = Array.from({length: 10}, (_, i) => [1, 2, 5].map((n) => n * 10 ** i)).flat();
const charts = new Map();
let data = JSON.parse(document.getElementById("data").textContent);
let groupedBy = "layer";
let connected = true;

// ---- small helpers ----------------------------------------------------------

/** An element with attributes and children; texts are never parsed as HTML. */
function make(name, attributes, ...children) {
  const svg = ["svg", "rect", "line", "path", "text", "g", "title"].includes(name);
  const element = svg ? document.createElementNS("http://www.w3.org/2000/svg", name)
    : document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined) continue;
    if (key === "onclick") element.addEventListener("click", value);
    else element.setAttribute(key, value);
  }
  for (const child of children.flat()) {
    if (child !== null && child !== undefined) element.append(child);
  }
  return element;
}
const three = (x) => x >= 100 ? x.toFixed(0) : x >= 10 ? x.toFixed(1) : x.toFixed(2);
function time(seconds) {
  const s = Math.abs(seconds);
  if (s === 0) return "0";
  if (s < 1e-3) return three(seconds * 1e6) + " us";
  if (s < 1) return three(seconds * 1e3) + " ms";
  if (s < 120) return three(seconds) + " s";
  return Math.floor(seconds / 60) + " min " + Math.round(seconds % 60) + " s";
}
function bytes(number) {
  for (const [unit, name] of [[1e9, "GB"], [1e6, "MB"], [1e3, "kB"]]) {
    if (number >= unit) return three(number / unit) + " " + name;
  }
  return number + " B";
}
const percent = (share) => (100 * share).toFixed(share < 0.0995 ? 1 : 0) + " %";
const count = (number) => Math.round(number).toLocaleString("en");
/** With so many decimals as numbers that are `step` apart need, on an axis, or else as usual. */
const decimals = (number, usual, step) => {
  if (!step) return number.toFixed(usual);
  let places = 0;
  while (places < 6 && Math.abs(step * 10 ** places / Math.round(step * 10 ** places) - 1) > 1e-6) places++;
  return number.toFixed(places);
};
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
const sum = (step) => PARTS.reduce((all, part) => all + (step[part] || 0), 0);
/** Round numbers from 0 to `end`, about `many`. */
function roundTicks(end, many) {
  const power = 10 ** Math.floor(Math.log10(end / many));
  const step = power * [1, 2, 5, 10].find((n) => end / (n * power) <= many);
  return Array.from({length: Math.floor(end / step * 1.0001) + 1}, (_, i) => i * step);
}
/** Of a round number: without decimals that say nothing. */
const shortTime = (seconds) => time(seconds).replace(/\.?0+ /, (zeros) => zeros[0] === "." ? " " : zeros);
function card(title, ...children) {
  return make("section", {class: "card"}, title ? make("h2", {}, title) : null, ...children);
}

// ---- head -------------------------------------------------------------------

function chip() {
  if (data.live && !connected) {
    const text = "no answer any more: what showed it has ended";
    return make("span", {class: "chip" + (data.running ? " lost" : "")}, data.running ? text : `${data.state} (${text})`);
  }
  if (!data.live) return make("span", {class: "chip"}, data.state);
  if (data.running) return make("span", {class: "chip live", id: "state"}, "training: " + data.state);
  return make("span", {class: "chip", id: "state"}, "ended: " + data.state);
}
function head() {
  return make("header", {}, make("div", {class: "head"}, make("h1", {}, data.name), chip()),
    make("div", {class: "quiet"}, data.title + (data.replayed ? ", computing replayed" : "")));
}
function banner() {
  const texts = data.banner || [];
  return texts.length ? make("div", {class: "banner", role: "status", id: "banner"}, texts.join("; ")) : null;
}
function progress() {
  if (!data.live || !data.progress) return null;
  const p = data.progress;
  if (!p.steps) return null;
  return make("section", {class: "card"},
    make("div", {class: "head"}, make("span", {id: "progress"},
      `step ${count(p.step)} of ${count(p.steps)}, epoch ${p.epoch} of ${p.epochs}`),
    make("span", {class: "quiet"}, percent(p.step / p.steps) +
      (data.running && connected && p.left_seconds ? ", about " + time(p.left_seconds) + " left" : ""))),
    make("progress", {max: p.steps, value: p.step, "aria-label": "steps done"}));
}
/** How a score is written: shares in percent, errors as numbers. */
const scoreText = (metric) => (v, step) => v === null || v === undefined ? "-"
  : metric.share ? (step ? decimals(100 * v, 1, 100 * step) + " %" : percent(v)) : String(Number(v.toPrecision(4)));
function facts() {
  const list = [];
  const add = (name, value, id, more) => list.push(make("div", {class: "fact"},
    make("span", {class: "quiet small"}, name), make("b", {id}, value),
    more ? make("span", {class: "quiet small"}, more) : null));
  const last = data.epochs.length ? data.epochs[data.epochs.length - 1] : null;
  if (data.images_per_s > 0) add("samples per second", count(data.images_per_s), "speed");
  if (data.images_per_s_in_all > 0) add("from command to end", count(data.images_per_s_in_all) + " /s");
  if (data.step_seconds > 0) add("a step", time(data.step_seconds));
  if (data.spread) {
    add("median, 5 %, 95 %", time(data.spread.median), "median",
      `${time(data.spread.low)} to ${time(data.spread.high)}, longest ${time(data.spread.highest)}`);
  }
  if (data.cluster && data.step_seconds > 0) {
    add("of it computing", percent(Math.min(1, data.cluster.computing / data.step_seconds)));
  }
  const loss = data.progress && data.running && data.progress.loss ? data.progress.loss
    : last ? last.train_loss : null;
  if (loss !== null && !data.replayed) add("training loss", loss.toPrecision(4), "loss");
  for (const metric of data.replayed || !last ? [] : data.metrics) {
    const value = last["test_" + metric.name];
    if (value !== undefined) add(`${data.set} ${metric.title}`, scoreText(metric)(value), metric.name);
  }
  if (last && last.lr > 0 && !data.replayed) add("learning rate", String(Number(last.lr.toPrecision(3))), "lr");
  return list.length ? make("div", {class: "facts"}, list) : null;
}

// ---- the story --------------------------------------------------------------

/** Options stay in one piece. */
const sentence = (text) => text.split(/(--[a-z][a-z-]*)/).map((piece) =>
  piece.startsWith("--") ? make("span", {class: "whole"}, piece) : piece);

function causes() {
  const items = data.causes.map((cause) => make("li", {},
    make("div", {class: "value"}, percent(cause.share), make("small", {}, time(cause.seconds) + (cause.once ? " once" : " a step"))),
    make("div", {}, make("span", {class: "kind"}, cause.kind + ": "), sentence(cause.text),
      make("div", {class: "meter"}, make("i", {style: `width:${Math.min(100, 100 * cause.share)}%`})))));
  return card("What holds it up", items.length ? make("ol", {class: "list", id: "causes"}, items)
    : make("p", {class: "quiet"}, !data.ranks.length ? "No step has been recorded yet."
      : data.running && !data.epochs.length ? "Too few steps yet to say."
        : "Nothing but computing takes more than 1 % of the time."));
}
const CERTAINTY = {simulated: "simulated with what was measured", reckoned: "reckoned from what was measured",
  "at most": "if that were gone altogether", open: "nobody knows before it was tried"};
function advice() {
  if (!data.advice.length) return null;
  const gain = (item) => item.speed_up === undefined ? "?"
    : (item.certainty === "at most" ? "≤ " : "") + item.speed_up.toFixed(item.certainty === "at most" ? 1 : 2) + " x";
  return card("What to do", make("ol", {class: "list", id: "advice"}, data.advice.map((item) => make("li", {},
    make("div", {class: "value"}, gain(item), make("small", {}, "speed")),
    make("div", {}, item.options ? make("code", {}, sentence(item.options)) : null, item.options ? ": " : null,
      sentence(item.what), make("div", {class: "quiet small"}, CERTAINTY[item.certainty]))))));
}

// ---- where the time went ----------------------------------------------------

function bar(step, longest) {
  const parts = PARTS.filter((part) => step[part] > 0);
  return make("div", {class: "bar", role: "img",
    "aria-label": parts.map((part) => `${WORDS[part]} ${time(step[part])}`).join(", ")},
  parts.map((part) => {
    const share = step[part] / longest;
    return make("span", {class: part, style: `width:${100 * share}%`,
      title: `${WORDS[part]}: ${time(step[part])} (${percent(step[part] / sum(step))})`},
    share > 0.09 ? time(step[part]) : "");
  }));
}
function barRow(name, inner, text) {
  return make("div", {class: "row"}, make("div", {class: "name", title: name}, name), inner,
    make("div", {class: "sum"}, text));
}
function division() {
  if (!data.ranks.length) return null;
  const servers = data.servers || [];
  const longest = Math.max(...[...data.ranks, ...servers].map((rank) => sum(rank.step)));
  const row = (rank) => barRow(rank.name, bar(rank.step, longest), time(sum(rank.step)));
  // Of many, the slowest to compute decide.
  let shown = data.ranks;
  if (shown.length > 32) shown = [...shown].sort((a, b) => b.computing - a.computing).slice(0, 32);
  const rows = shown.map(row);
  if (data.ranks.length > 1) rows.push(make("div", {class: "total"}), row(data.cluster));
  if (servers.length) rows.push(make("div", {class: "total"}), ...servers.slice(0, 32).map(row));
  const all = sum(data.cluster.step);
  const legend = PARTS.filter((part) => data.cluster.step[part] > 0.0005 * all).map((part) =>
    make("span", {}, make("i", {class: part}), `${WORDS[part]} ${percent(data.cluster.step[part] / all)}`));
  return card("Where the time went", make("p", {}, data.path), make("div", {class: "bars", id: "division"}, rows),
    make("div", {class: "legend"}, legend),
    data.certainty ? make("p", {class: "quiet small"}, data.certainty) : null,
    servers.length ? make("p", {class: "quiet small", id: "servers"}, servers.slice(0, 8).map((s) =>
      `${s.name} is busy ${percent(s.busy)} of a step: ${time(s.step.network)} moving gradients and weights, ` +
      `${time(s.step.update)} updating`).join("; ") + ".") : null,
    shown.length < data.ranks.length ? make("p", {class: "quiet small"},
      `Shown are the 32 of ${data.ranks.length} ranks that compute longest.`) : null);
}

/** From the command to its end: every second is in one of its parts. */
function account() {
  const list = (data.account || []).filter((part) => part.seconds > 0);
  if (!list.length) return null;
  const all = list.reduce((n, part) => n + part.seconds, 0);
  const look = {"start-up": "wait", data: "load", "set-up": "other", meeting: "network", steps: "backward",
    evaluation: "evaluate", checkpoints: "checkpoint", end: "wait"};
  return card("From the command to its end: " + time(all), make("div", {class: "bar", id: "account", role: "img",
    "aria-label": list.map((part) => `${part.name} ${time(part.seconds)}`).join(", ")}, list.map((part) =>
    make("span", {class: look[part.name], style: `width:${100 * part.seconds / all}%`,
      title: `${part.name}: ${time(part.seconds)} (${percent(part.seconds / all)})`},
    part.seconds > 0.09 * all ? time(part.seconds) : ""))),
  make("div", {class: "legend"}, list.filter((part) => part.seconds > 0.0005 * all).map((part) => make("span", {},
    make("i", {class: look[part.name]}), `${part.name} ${time(part.seconds)}, ${percent(part.seconds / all)}`))));
}

// ---- operators --------------------------------------------------------------

function operators() {
  if (!data.operators) return null;
  const choice = make("span", {class: "choice"}, ["layer", "kind", "phase"].map((by) => make("button", {
    type: "button", id: "by-" + by, "aria-pressed": String(by === groupedBy), onclick: () => { groupedBy = by; draw(); }}, by)));
  const rows = data.operators[groupedBy].slice(0, 25);
  const most = rows.length ? rows[0].seconds : 1;
  const table = make("table", {}, make("thead", {}, make("tr", {}, make("th", {}, groupedBy), make("th", {}),
    make("th", {}, "time"), make("th", {class: "hide-small"}, "share"), make("th", {class: "hide-small"}, "GFLOP/s"),
    make("th", {class: "hide-small"}, "GB/s"), make("th", {}, "of roofline"))),
  make("tbody", {}, rows.map((row) => make("tr", {}, make("td", {}, row.name),
    make("td", {class: "wide"}, make("div", {class: "meter"}, make("i", {style: `width:${100 * row.seconds / most}%`}))),
    make("td", {}, time(row.seconds)), make("td", {class: "hide-small"}, percent(row.share)),
    make("td", {class: "hide-small"}, row.gflops.toFixed(1)), make("td", {class: "hide-small"}, row.gb_s.toFixed(1)),
    make("td", {}, row.of_roofline === undefined ? "-" : percent(row.of_roofline))))));
  const all = data.operators[groupedBy].length;
  return card(null, make("div", {class: "head apart"}, make("h2", {}, "Operators of rank 0, in a step"), choice), make("div", {class: "scroll"}, table),
    all > rows.length ? make("p", {class: "quiet small"}, `and ${all - rows.length} more`) : null);
}

// ---- curves -----------------------------------------------------------------

const lastOf = (values) => values.reduce((last, v) => v === null || v === undefined ? last : v, null);
/** Keeps a chart while its series stay the same, so that a poll does not take a zoom away. */
function curve(id, title, xs, series, options = {}) {
  const box = make("div", {class: "chart", id: "chart-" + id}, make("h3", {}, title));
  const names = JSON.stringify([series.map((s) => s.name), colour("ink")]);
  const values = [xs, ...series.map((s) => s.values)];
  const known = charts.get(id);
  if (known && known.names === names) {
    box.append(known.plot.root);
    known.plot.setData(values, !known.zoomed());
    return {box, fit: known.fit};
  }
  if (known) known.plot.destroy();
  const axis = {stroke: colour("quiet"), grid: {stroke: colour("line"), width: 1},
    ticks: {stroke: colour("line"), width: 1}, font: "11px system-ui, sans-serif"};
  const format = options.format || ((v) => v === null || v === undefined ? "-" : String(Number(v.toPrecision(4))));
  const mount = make("div", {});
  box.append(mount);
  const plot = new uPlot({
    width: 400, height: 196, cursor: {drag: {x: true, y: false}},
    scales: {x: {time: false}, y: {range: options.range || ((u, low, high) => {
      const from = options.from === undefined ? low : Math.min(low, options.from);
      if (high > from) return [from, high + 0.05 * (high - from)];
      const around = Math.abs(low) * 0.05 || 1;  // it never changes
      return [options.from === undefined ? low - around : from, low + around];
    })}},
    axes: [{...axis, size: 30, label: options.x || "step", labelSize: 16, labelGap: 0, labelFont: axis.font,
      incrs: WHOLE, values: (u, ticks) => ticks.map((v) => Number.isInteger(v) ? count(v) : v)},
      {...axis, size: options.size || 52, values: (u, ticks, at, space, step) => ticks.map((v) => format(v, step))}],
    series: [{label: options.x || "step", value: (u, v) => count(v === null ? lastOf(u.data[0]) : v)},
      ...series.map((s, i) => ({label: s.name, stroke: colour("s" + i % 6), width: 1.6, 
        ...(s.dots ? {paths: () => null} : s.stairs ? {paths: uPlot.paths.stepped({align: 1})} : {}),
        points: {size: s.dots ? 4 : undefined, show: (u) => Boolean(s.sparse || s.dots) || u.data[0].length <= 20}, spanGaps: true,
        // Where no pointer is: the last one.
        value: (u, v, at, index) => format(index === null || index === undefined ? lastOf(u.data[at]) : v)}))],
  }, values, mount);
  const fit = () => {
    const width = Math.floor(plot.root.parentElement.clientWidth);  // of the page as it is now
    if (width > 0 && Math.abs(width - plot.width) > 1) plot.setSize({width, height: 196});
  };
  const zoomed = () => {
    const all = plot.data[0];
    return all.length > 1 && (plot.scales.x.min > all[0] || plot.scales.x.max < all[all.length - 1] * 0.98);
  };
  charts.set(id, {names, plot, fit, zoomed});
  return {box, fit};
}
/** What was noted about once in a second, or else at the ends of epochs, and tests, over the steps. */
function overSteps(during, training, test) {
  const points = data.points && data.points.xs.length > 1 ? data.points : null;
  const rows = new Map();
  const put = (step, key, value) => {
    if (value === undefined || value === null) return;
    rows.set(step, {...rows.get(step), [key]: value});
  };
  const noted = points && points[during] ? points : null;
  if (noted) noted.xs.forEach((step, i) => put(step, "training", noted[during][i]));
  for (const epoch of data.epochs) {
    if (!noted) put(epoch.step, "training", epoch[training]);
    if (test) put(epoch.step, "test", epoch[test]);
  }
  const xs = [...rows.keys()].sort((a, b) => a - b);
  const of = (key) => xs.map((x) => rows.get(x)[key] ?? null);
  const series = [{name: "training", values: of("training")}, {name: data.set || "test", values: of("test"), sparse: true}];
  return {xs, series: series.filter((s) => s.values.some((v) => v !== null))};
}
function curves() {
  const list = [];
  const add = (id, title, {xs, series}, options) => {
    if (xs.length > 1) list.push(curve(id, title, xs, series, options));  // one point is no curve
  };
  if (!data.replayed) {
    add("loss", "loss", overSteps("loss", "train_loss", "test_loss"));
    for (const metric of data.metrics) {
      const during = data.points && data.points.metric === metric.name ? "score" : "";
      add(metric.name, metric.title, overSteps(during, "train_" + metric.name, "test_" + metric.name),
        {format: scoreText(metric)});
    }
  }
  if (!data.replayed && data.epochs.some((epoch) => epoch.lr !== data.epochs[0].lr)) {
    add("lr", "learning rate", {xs: data.epochs.map((epoch) => epoch.step),
      series: [{name: "at the end of an epoch", values: data.epochs.map((epoch) => epoch.lr), sparse: true}]}, {from: 0});
  }
  const speed = overSteps("images_per_s", "images_per_s");
  speed.series.forEach((s) => { s.name = "samples/s"; });
  add("speed", "samples per second", speed, {from: 0, format: (v, step) => v === null || v === undefined ? "-" : step < 1 ? decimals(v, 0, step) : count(v)});
  const steps = data.steps;
  const measured = steps ? steps.xs.filter((_, i) => steps.ranks.some((rank) => rank.values[i] !== null)) : [];
  if (measured.length > 1) {
    list.push(curve("steps", "time of a step", steps.xs, steps.ranks,
      {from: 0, size: 62, format: (v) => v === null || v === undefined ? "-" : time(v)}));
  }
  return section("How it went", list);
}
function hosts() {
  const list = [];
  for (const [id, title, key, format] of [
    ["cpu", "CPU in use", "busy", (v, step) => decimals(100 * v, 0, 100 * step) + " %"],
    ["network", "network, in and out, MB/s", "network", (v, step) => decimals(v, 1, step)],
    ["memory", "memory in use, GB", "memory", (v, step) => decimals(v, 1, step)],
    ["running", "processes that run or are ready to", "running", (v, step) => decimals(v, 0, step)]]) {
    const of = data.hosts && data.hosts[key];
    if (!of || of.xs.length < 2) continue;
    list.push(curve("host-" + id, title, of.xs, of.series, {x: "second", from: 0,
      format: (v, step) => v === null || v === undefined ? "-" : format(v, step)}));
  }
  return section("Hosts", list);
}
const pending = [];
function section(title, list) {
  if (!list.length) return null;
  pending.push(...list.map((c) => c.fit));
  return card(title, make("div", {class: "two"}, list.map((c) => c.box)));
}

// ---- the rest ---------------------------------------------------------------

function histogram(title, pairs, note) {
  const most = Math.max(...pairs.map((p) => p[1]));
  return card(title, make("div", {class: "bars"}, pairs.map(([name, value, text, part]) => barRow(name,
    make("div", {class: "bar"}, make("span", {class: part || "backward", style: `width:${100 * value / most}%`})),
    text))), note ? make("p", {class: "quiet small"}, note) : null);
}
/** What test samples came to, class by class, label by label or value by value. */
function scores() {
  const s = data.scores;
  if (!s) return null;
  const picture = s.picture ? make("img", {class: "picture", alt: "the same as a picture",
    src: "data:image/svg+xml;charset=utf-8," + encodeURIComponent(s.picture)}) : null;
  const table = make("div", {class: "scroll"}, make("table", {id: "scores"},
    make("thead", {}, make("tr", {}, s.columns.map((name) => make("th", {}, name)))),
    make("tbody", {}, s.rows.map((row) => make("tr", {}, row.map((cell) => make("td", {}, cell)))))));
  return card("Predictions", make("p", {class: "quiet small"},
    `${count(s.samples)} ${s.set} samples after epoch ${s.epoch}, the best so far.`),
  make("div", {class: "two"}, table, picture));
}
function staleness() {
  const list = data.staleness || [];
  const all = list.reduce((n, [, times]) => n + times, 0);
  if (!all) return null;
  return histogram("Staleness", list.map(([updates, times]) =>
    [`${updates} update${updates === 1 ? "" : "s"}`, times, percent(times / all)]),
  "Updates by others between a worker's pull and its push.");
}
function plan() {
  if (!data.planned_step_seconds) return null;
  const off = data.step_seconds / data.planned_step_seconds - 1;
  return histogram("Plan and truth", [["planned step", data.planned_step_seconds, time(data.planned_step_seconds), "wait"],
    ["measured step", data.step_seconds, time(data.step_seconds)]],
  `A step took ${percent(Math.abs(off))} ${off > 0 ? "longer" : "less"} than planned.`);
}
function buckets() {
  const list = data.buckets || [];
  if (!list.length) return null;
  // Of many those that hold a step up most, in the order in which they become ready.
  const shown = [...list].sort((a, b) => b.exposed_s - a.exposed_s || b.bytes - a.bytes).slice(0, 16)
    .sort((a, b) => a.ready_s - b.ready_s);
  const begin = Math.min(...shown.map((b) => b.ready_s));
  const end = Math.max(...shown.map((b) => b.arrived_s));
  return card("Buckets of rank 0", make("div", {class: "bars"}, shown.map((b) => {
    const at = (s) => 100 * s / (end - begin);
    const layers = b.first_layer === b.last_layer || !b.last_layer ? b.first_layer : `${b.first_layer} to ${b.last_layer}`;
    const hidden = Math.max(0, b.arrived_s - b.ready_s - b.exposed_s);
    return barRow(layers,
      make("div", {class: "bar", title: `ready at ${time(b.ready_s)}, there at ${time(b.arrived_s)}, exposed ${time(b.exposed_s)}`},
        make("span", {style: `width:${at(b.ready_s - begin)}%`}), make("span", {class: "forward", style: `width:${at(hidden)}%`}),
        make("span", {class: "network", style: `width:${at(b.exposed_s)}%`})),
      bytes(b.bytes));
  })), make("div", {class: "legend"}, make("span", {}, make("i", {class: "forward"}), "on its way, hidden"),
    make("span", {}, make("i", {class: "network"}), "exposed")),
  make("p", {class: "quiet small"}, `From ${time(begin)} to ${time(end)} after the start of a step` +
    (end > data.step_seconds ? ": what is still on its way crosses at the beginning of the next." : ".") +
    (shown.length < list.length ? ` Shown are the ${shown.length} of ${list.length} buckets that are exposed most.` : "")));
}
/** The job, key by key. */
function settings() {
  const list = data.settings || [];
  if (!list.length) return null;
  return card(null, make("details", {id: "settings"}, make("summary", {}, "Settings of the job"),
    make("div", {class: "settings"}, list.map(([key, value]) => make("div", {}, make("span", {class: "quiet"}, key + " "), value)))));
}
function notes() {
  return data.notes.length ? card("Notes", make("ul", {class: "notes quiet"}, data.notes.map((n) => make("li", {}, n)))) : null;
}
function log() {
  return data.log && data.log.length ? card("Log", make("pre", {class: "log", tabindex: "0", id: "log"}, data.log.join("\n"))) : null;
}
function side(...cards) {
  const list = cards.filter((c) => c !== null);
  return list.length ? make("div", {class: "two"}, list) : null;
}

/** What a redraw would take away: where the log was scrolled to, and the keyboard's focus. */
function placeOf() {
  const old = document.querySelector("pre.log");
  const atEnd = !old || old.scrollTop + old.clientHeight >= old.scrollHeight - 4;
  return {log: atEnd ? null : old.scrollTop, focus: document.activeElement && document.activeElement.id};
}
function restore(place) {
  const now = document.querySelector("pre.log");
  if (now) now.scrollTop = place.log === null ? now.scrollHeight : place.log;
  const focused = place.focus && document.getElementById(place.focus);
  if (focused) focused.focus({preventScroll: true});
}

function draw() {
  const place = placeOf();
  pending.length = 0;
  const open = document.getElementById("settings") && document.getElementById("settings").open;
  const parts = data.trials ? searchParts() : data.comparison ? comparisonParts() : data.list ? listParts() : [head(), banner(), progress(), facts(),
    data.live ? curves() : null, account(), division(), side(causes(), advice()), timeline(),
    side(buckets(), plan(), staleness()), operators(), data.live ? null : curves(), scores(), hosts(), settings(), log(), notes()];
  document.getElementById("page").replaceChildren(...parts.filter((p) => p !== null));
  document.title = data.name + " - syrtos";
  if (open) document.getElementById("settings").open = true;
  fitAll();
  restore(place);
}
function fitAll() { for (const fit of pending) fit(); }
window.addEventListener("resize", fitAll);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);

// While a run goes on its page asks for news every second; a hidden page does not.
let shown = "";
async function poll() {
  if (!document.hidden || shown === "") {
    try {
      const answer = await fetch("data.json" + location.search, {cache: "no-store"});
      if (!answer.ok) throw new Error(answer.status);
      const text = await answer.text();
      if (text !== shown || !connected) {
        connected = true;
        shown = text;
        data = JSON.parse(text);
        draw();
      }
    } catch (error) {
      if (connected) { connected = false; draw(); }
    }
  }
  setTimeout(poll, 1000);
}
draw();
if (data.live) poll();
