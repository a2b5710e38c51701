// Several runs: side by side, and as a list. In one script with page.js.

function timesTable(id, title, rows) {
  const list = rows.filter((row) => row.seconds.some((s) => s > 0));
  if (!list.length) return null;
  const names = data.comparison.names;
  return card(title, make("div", {class: "scroll"}, make("table", {id}, make("thead", {}, make("tr", {}, make("th", {}),
    names.map((name) => make("th", {}, name)), names.length === 2 ? make("th", {}, "change") : null)),
  make("tbody", {}, list.slice(0, 30).map((row) => make("tr", {}, make("td", {}, row.name),
    row.seconds.map((s) => make("td", {}, time(s))),
    names.length === 2 ? make("td", {}, (row.seconds[1] < row.seconds[0] ? "−" : "+") +
      time(Math.abs(row.seconds[1] - row.seconds[0]))) : null))))));
}
/** One quantity of all runs over their steps. */
function together(id, title, during, training, options) {
  const rows = new Map();
  data.runs.forEach((run, i) => {
    const points = run.points && run.points.xs.length > 1 ? run.points : null;
    const put = (step, value) => { if (value !== undefined && value !== null) rows.set(step, {...rows.get(step), [i]: value}); };
    if (points && during) points.xs.forEach((step, k) => put(step, points[during][k]));
    else for (const epoch of run.epochs) put(epoch.step, epoch[training]);
  });
  const xs = [...rows.keys()].sort((a, b) => a - b);
  const series = data.runs.map((run, i) => ({name: run.label, values: xs.map((x) => rows.get(x)[i] ?? null)}))
    .filter((s) => s.values.some((v) => v !== null));
  return xs.length > 1 ? curve(id, title, xs, series, options) : null;
}
function comparisonParts() {
  const c = data.comparison;
  const longest = Math.max(...data.runs.map((run) => sum(run.cluster.step)));
  const curvesOfAll = [together("all-loss", "training loss", "loss", "train_loss"),
    ...data.runs[0].metrics.map((metric) => together("all-" + metric.name, "test " + metric.title, null,
      "test_" + metric.name, {format: scoreText(metric), size: 60})),
    together("all-speed", "samples per second", "images_per_s", "images_per_s", {from: 0})].filter((one) => one !== null);
  return [make("header", {}, make("div", {class: "head"}, make("h1", {}, "Runs side by side"))),
    card(null, make("div", {class: "bars", id: "runs"}, data.runs.map((run) => barRow(run.label + ": " + run.name,
      run.ranks.length ? bar(run.cluster.step, longest) : make("div", {}), time(sum(run.cluster.step))))),
    make("div", {class: "legend"}, PARTS.filter((part) => data.runs.some((run) => run.cluster.step[part] > 0.0005 * longest))
      .map((part) => make("span", {}, make("i", {class: part}), WORDS[part]))),
    make("ul", {class: "notes quiet small"}, data.runs.map((run) => make("li", {}, `${run.label}: ${run.title}; ${run.state}`)))),
    card("What to make of it", c.verdicts.map((text) => make("p", {}, text))),
    c.other.length ? card("They differ in", make("div", {class: "scroll"}, make("table", {id: "other"}, make("thead", {}, make("tr", {},
      make("th", {}), c.names.map((name) => make("th", {}, name)))), make("tbody", {}, c.other.map((row) => make("tr", {},
      make("td", {}, row.name), row.values.map((value) => make("td", {}, value)))))))) : null,
    timesTable("account", "From the command to its end", c.account),
    timesTable("parts", c.unit === "step" ? "A usual step, mean of all ranks" : "1,000 samples, mean of all ranks", [c.total, ...c.parts]),
    section("How they went", curvesOfAll), timesTable("ranks", "Computing, rank by rank", c.ranks),
    timesTable("operators", "Operators of rank 0 that changed most", c.operators),
    c.notes.length ? card("Notes", make("ul", {class: "notes quiet"}, c.notes.map((n) => make("li", {}, n)))) : null];
}
/** Runs of a directory; some of them can be chosen and compared. */
const ticked = new Set();
function listParts() {
  const query = location.search;
  const compare = make("button", {type: "button", id: "compare", disabled: ticked.size < 2 ? "" : null,
    onclick: () => { location.href = "compare/" + [...ticked].map(encodeURIComponent).join("/") + "/" + query; }}, "compare those that are ticked");
  const tick = (run) => {
    const box = make("input", {type: "checkbox", "aria-label": "compare " + run.name, checked: ticked.has(run.name) ? "" : null});
    box.addEventListener("change", () => {
      if (box.checked) ticked.add(run.name); else ticked.delete(run.name);
      compare.disabled = ticked.size < 2;
    });
    return box;
  };
  return [make("header", {}, make("div", {class: "head"}, make("h1", {}, data.name), make("span", {class: "chip"}, `${data.list.length} runs`))),
    card(null, make("div", {class: "scroll"}, make("table", {id: "runs"}, make("thead", {}, make("tr", {},
      ["", "run", "", "state", "steps", "loss", "tests", "samples/s"].map((name) => make("th", {}, name)))),
    make("tbody", {}, data.list.map((run) => make("tr", {}, make("td", {}, tick(run)),
      make("td", {class: "left"}, make("a", {href: "run/" + encodeURIComponent(run.name) + "/" + query}, run.name)),
      make("td", {class: "left"}, run.title), make("td", {}, run.state), make("td", {}, run.steps ? `${count(run.step)} of ${count(run.steps)}` : "-"),
      make("td", {}, run.loss ? run.loss.toPrecision(4) : "-"), make("td", {}, run.score || "-"),
      make("td", {}, run.images_per_s ? count(run.images_per_s) : "-")))))), make("p", {}, compare))];
}
