"use strict";
// One step across ranks: which step, which part of it. In one script with page.js.

// Which step is shown, and which seconds of it; null: the usual one, all of it.
let chosen = null;
let zoom = null;

function timeline() {
  const all = data.timeline;
  if (!all || !all.steps.length) return null;
  const at = chosen === null ? all.usual : Math.min(chosen, all.steps.length - 1);
  const t = all.steps[at];
  const title = (step, i) => (step.step ? `step ${count(step.step)}` : "from the middle of the trace") + `: ${time(step.seconds)}` +
    (i === all.usual && all.steps.length > 1 ? ", a usual one" : "");
  const go = (next) => { chosen = next; zoom = null; draw(); };
  const scale = (by) => {
    const [from, to] = zoom || [0, t.seconds];
    const middle = (from + to) / 2, half = Math.min(t.seconds, (to - from) * by) / 2;
    zoom = by >= 1 && 2 * half >= t.seconds * 0.999 ? null
      : [Math.max(0, Math.min(middle - half, t.seconds - 2 * half)), Math.min(t.seconds, Math.max(middle + half, 2 * half))];
    draw();
  };
  const select = make("select", {id: "step", "aria-label": "which step"}, all.steps.map((step, i) =>
    make("option", {value: i, selected: i === at ? "" : null}, title(step, i))));
  select.addEventListener("change", () => go(Number(select.value)));
  const button = (id, text, label, act) => make("button", {type: "button", id, "aria-label": label, onclick: act}, text);
  const tools = make("span", {class: "choice"},
    all.steps.length > 1 ? [button("earlier", "◀", "the step before", () => go(Math.max(0, at - 1))), select,
      button("later", "▶", "the step after", () => go(Math.min(all.steps.length - 1, at + 1)))] : null,
    button("closer", "+", "closer", () => scale(0.5)), button("farther", "−", "farther", () => scale(2)),
    zoom ? button("whole", "whole step", "the whole step", () => { zoom = null; draw(); }) : null);
  const shown = new Set(t.lanes.flatMap((lane) => lane.spans.map((span) => span[1])));
  const legend = PARTS.filter((part) => shown.has(part)).map((part) =>
    make("span", {}, make("i", {class: part}), part === "network" ? "exchange" : WORDS[part]));
  const which = all.steps.length > 1 ? "" : title(t, at) + ". ";
  return card(null, make("div", {class: "head apart"}, make("h2", {}, "One step across ranks"), tools),
    make("p", {class: "quiet small", id: "timeline-text"}, `${which}${all.steps.length} of ${all.traced} steps that were traced can be ` +
      `chosen; drag across the lanes to look closer. ${t.text}`),
    make("div", {class: "scroll"}, lanesOf(t)), make("div", {class: "legend"}, legend));
}

/** The lanes of a step, between the seconds that were chosen. */
function lanesOf(t) {
  const left = 140, width = 970, gap = 8;
  const [from, to] = zoom || [0, t.seconds];
  const long = to - from;
  const scale = (s) => left + width * (s - from) / long;
  const ticks = roundTicks(long, 8);
  const svg = make("svg", {class: "timeline", id: "timeline", role: "img", "aria-label": "one step across ranks"});
  let y = 22;
  const lanes = new Map();
  for (const at of ticks) {
    const x = scale(from + at);
    const edge = at === 0 ? "start" : x > left + width - 30 ? "end" : "middle";
    svg.append(make("text", {x, y: 12, "text-anchor": edge}, zoom ? time(from + at) : shortTime(at)));
  }
  const grid = make("g", {});
  svg.append(grid);
  t.lanes.forEach((lane, index) => {
    if (index > 0 && t.lanes[index - 1].rank !== lane.rank) y += gap;
    // What crosses may overlap: thinner, and the darker the more there is.
    const crosses = lane.messages || lane.label.endsWith("exchange");
    const height = crosses ? 11 : 18;
    const label = lane.label.length > 22 ? lane.label.slice(0, 21) + "…" : lane.label;
    svg.append(make("text", {x: 0, y: y + height / 2 + 4}, label, make("title", {}, lane.label)));
    svg.append(make("rect", {class: "lane", x: left, y, width, height}));
    for (const [name, part, start, length] of lane.spans) {
      const begin = Math.max(from, start), end = Math.min(to, start + length);
      if (end < from || begin > to || (end <= begin && length > 0)) continue;
      const wide = width * (end - begin) / long;
      svg.append(make("rect", {class: "f-" + part + (crosses ? " crosses" : ""), x: scale(begin), y: y + 1,
        rx: wide > 6 ? 2 : 0, width: Math.max(0.8, wide), height: height - 2},
      make("title", {}, `${name}: ${time(length)}`)));
    }
    lanes.set(index, y + height / 2);
    y += height + (crosses ? 3 : 2);
  });
  for (const at of ticks) {
    grid.append(make("line", {class: "grid", x1: scale(from + at), x2: scale(from + at), y1: 16, y2: y}));
  }
  for (const [sender, start, receiver, end, name] of t.messages) {
    if (start < from || end > to) continue;
    svg.append(make("path", {class: "message", d: `M${scale(start)} ${lanes.get(sender)}L${scale(end)} ${lanes.get(receiver)}`},
      make("title", {}, `${name}: ${time(end - start)}`)));
  }
  const total = left + width + 2;
  svg.setAttribute("viewBox", `0 0 ${total} ${y + 4}`);
  dragToZoom(svg, (event) => {
    const box = svg.getBoundingClientRect();
    const x = (event.clientX - box.left) / box.width * total;
    return from + Math.max(0, Math.min(1, (x - left) / width)) * long;
  }, (s) => scale(s), y);
  return svg;
}
function dragToZoom(svg, secondOf, scale, height) {
  let begun = null, mark = null;
  svg.addEventListener("pointerdown", (event) => {
    begun = secondOf(event);
    svg.setPointerCapture(event.pointerId);
    mark = make("rect", {class: "chosen", x: scale(begun), y: 16, width: 0, height: height - 16});
    svg.append(mark);
  });
  svg.addEventListener("pointermove", (event) => {
    if (begun === null) return;
    const now = secondOf(event);
    mark.setAttribute("x", scale(Math.min(begun, now)));
    mark.setAttribute("width", Math.abs(scale(now) - scale(begun)));
  });
  svg.addEventListener("pointerup", (event) => {
    if (begun === null) return;
    const now = secondOf(event), first = Math.min(begun, now), last = Math.max(begun, now);
    begun = null;
    mark.remove();
    if (scale(last) - scale(first) < 8) return;  // a click
    zoom = [first, last];
    draw();
  });
  svg.addEventListener("dblclick", () => { zoom = null; draw(); });
}
