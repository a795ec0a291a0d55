"use strict";
(() => {
  const runs = JSON.parse(document.getElementById("data").textContent);
  const two = runs.length > 1;
  const tip = document.getElementById("tip");
  const color = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const ink = i => i === 0 ? "var(--one)" : "var(--two)";
  const redraws = [];

  // Words.
  function length(seconds) {
    let s = Math.round(Math.abs(seconds)), text = "";
    for (const [unit, n] of [["d", 86400], ["h", 3600], ["m", 60], ["s", 1]]) {
      const k = Math.floor(s / n);
      if (k > 0) { text += k + unit; s -= k * n; }
    }
    return (seconds < 0 ? "−" : "") + (text || "0s");
  }
  // The two largest units say enough of a figure.
  function coarse(seconds) {
    const parts = length(seconds).match(/[−0-9]+[dhms]/g) || ["0s"];
    return parts.slice(0, 2).join(" ");
  }
  const percent = share => (100 * share).toFixed(1) + " %";
  const plain = n => n >= 100 ? Math.round(n).toLocaleString("en") : +n.toPrecision(4) + "";
  function node(tag, attributes = {}, ...children) {
    const e = tag === "svg" || node.inSVG.has(tag) ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
    for (const [k, v] of Object.entries(attributes)) { e.setAttribute(k, v); }
    for (const c of children) { e.append(c); }
    return e;
  }
  node.inSVG = new Set(["g", "path", "line", "rect", "text", "title"]);

  // Figures. All but the longest wait are of the jobs alone that started or ended:
  // they praise whoever leaves some out, and are judged where the work is the same.
  const figures = [
    ["meanWait", "mean wait", coarse, -1], ["p95Wait", "95 % waited at most", coarse, -1], ["longestWait", "longest wait", coarse, -1],
    ["meanBoundedSlowdown", "mean bounded slowdown", plain, -1], ["utilization", "utilization", percent, 1],
    ["makespan", "makespan", coarse, -1],
  ];
  const figure = (r, key) => key in r.counts ? r.counts[key] : r.metrics[key];
  const sameWork = runs.every(r => ["submitted", "ended", "neverStarted"].every(k => r.counts[k] === runs[0].counts[k]));
  function tiles() {
    const box = document.getElementById("tiles");
    for (const [key, name, words, better] of figures) {
      const tile = node("div", { class: "tile" }, node("div", { class: "name" }, name));
      runs.forEach((r, i) => {
        const value = node("div", { class: "value" });
        if (two) { value.append(node("span", { class: "dot", style: "background:" + ink(i), title: r.label })); }
        value.append(words(figure(r, key)));
        if (i === 1 && figure(runs[0], key) > 0) {
          const change = figure(r, key) / figure(runs[0], key) - 1;
          const judged = (sameWork || key === "longestWait") && Math.abs(change) >= 0.0005;
          const kind = !judged ? "" : change * better > 0 ? " good" : " bad";
          value.append(node("span", { class: "change" + kind }, (change >= 0 ? "+" : "−") + Math.abs(100 * change).toFixed(1) + " %"));
        }
        tile.append(value);
      });
      box.append(tile);
    }
    function counted(name, words) {
      const counts = node("div", { class: "tile" }, node("div", { class: "name" }, name));
      runs.forEach((r, i) => counts.append(node("div", { class: "value" },
        ...(two ? [node("span", { class: "dot", style: "background:" + ink(i) })] : []), words(r.counts))));
      box.append(counts);
    }
    counted("jobs ended of submitted", c => c.ended.toLocaleString("en") + " of " + c.submitted.toLocaleString("en"));
    counted("jobs that never started", c => c.neverStarted.toLocaleString("en"));
    if (!sameWork) {
      box.after(node("p", { class: "quiet" }, "The runs have not done the same work: figures of the jobs that started or ended alone are not called better or worse."));
    }
    if (two) { box.before(legend()); }
    const missed = document.getElementById("missed");
    runs.forEach(r => {
      if (r.missed.length > 0) { missed.append(node("div", { class: "missed" }, (two ? r.label + ": " : "") + "does not hold: " + r.missed.join("\n"))); }
      else if (r.held > 0) { missed.append(node("div", { class: "held" }, (two ? r.label + ": " : "") + "all " + r.held + " expectations hold")); }
      if (r.trace) { missed.append(node("p", { class: "quiet" }, r.trace)); }
    });
  }
  function legend() {
    const box = node("div", { class: "legend" });
    runs.forEach((r, i) => box.append(node("span", {}, node("i", { class: "dot", style: "background:" + ink(i) }), r.label)));
    return box;
  }

  // Scales with round steps.
  const rounds = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800, 1209600, 2592000, 7776000, 15552000, 31536000, 63072000];
  function marks(most, inTime) {
    let step = inTime ? rounds.find(s => most / s <= 5) || rounds[rounds.length - 1] : 1;
    for (let k = 0; !inTime && most / step > 5; k++) { step = [1, 2, 5][k % 3] * 10 ** Math.floor(k / 3); }
    const out = [];
    for (let v = 0; v < most + step; v += step) { out.push(v); }
    return out;
  }
  function steps(from, till, most) {
    const step = rounds.find(s => (till - from) / s <= most) || rounds[rounds.length - 1];
    const out = [];
    for (let t = Math.ceil(from / step) * step; t <= till; t += step) { out.push(t); }
    return out;
  }

  // Nodes over time.
  const view = { from: 0, till: Math.max(...runs.map(r => r.end)) };
  const whole = { ...view };
  function gantt(r, index) {
    const canvas = node("canvas", { role: "img", "aria-label": "Runs on " + r.nodes.length + " nodes over " + length(r.end) });
    const scroll = node("div", { class: "scroll" }, canvas);
    const side = node("div", { class: "side" });
    if (two) { side.append(node("h3", {}, node("i", { class: "dot", style: "background:" + ink(index) }), r.label)); }
    side.append(scroll);
    const rows = r.grid ? r.grid.length : r.nodes.length;
    const high = r.grid ? Math.max(2, Math.min(14, 560 / rows)) : Math.max(8, Math.min(46, 560 / rows));
    const left = r.grid && r.grid.length < r.nodes.length ? 8 : Math.min(130, 16 + 7 * Math.max(...r.nodes.map(n => n.length))), top = 24;
    const hue = j => (j * 137.508) % 360;
    let wide = 0, hits = [];
    const x = t => left + (t - view.from) / (view.till - view.from) * (wide - left - 8);
    function draw() {
      wide = scroll.clientWidth;
      const tall = top + rows * high + 6, ratio = window.devicePixelRatio || 1;
      canvas.width = wide * ratio; canvas.height = tall * ratio; canvas.style.height = tall + "px";
      const c = canvas.getContext("2d");
      c.scale(ratio, ratio);
      c.clearRect(0, 0, wide, tall);
      c.font = "11px system-ui, sans-serif";
      c.textBaseline = "middle";
      const dark = matchMedia("(prefers-color-scheme: dark)").matches ? document.documentElement.dataset.theme !== "light" : document.documentElement.dataset.theme === "dark";
      c.strokeStyle = color("--grid"); c.fillStyle = color("--soft");
      for (const t of steps(view.from, view.till, Math.max(2, wide / 110))) {
        c.beginPath(); c.moveTo(x(t), top - 4); c.lineTo(x(t), tall); c.stroke();
        c.textAlign = x(t) > wide - 30 ? "right" : "center";
        c.fillText(length(t), x(t), 11);
      }
      c.textAlign = "left";
      if (left > 8) {
        const each = Math.max(1, Math.ceil(12 / high));
        for (let i = 0; i < rows; i += each) { c.fillText(r.nodes[i], 6, top + i * high + high / 2); }
      }
      c.save(); c.beginPath(); c.rect(left, top - 1, wide - left, tall); c.clip();
      hits = [];
      if (r.grid) { cells(c, dark); } else { bars(c, dark); }
      c.restore();
      c.strokeStyle = color("--grid");
      for (let i = 0; i <= rows && high >= 8; i++) { c.beginPath(); c.moveTo(left, top + i * high - .5); c.lineTo(wide, top + i * high - .5); c.stroke(); }
    }
    function cells(c, dark) {
      r.grid.forEach((row, i) => row.forEach((share, k) => {
        if (share === 0) { return; }
        const from = x(k * r.gridStep), till = x((k + 1) * r.gridStep);
        if (till < left || from > wide) { return; }
        c.fillStyle = dark ? `hsl(214 80% ${14 + share * .5}%)` : `hsl(214 70% ${94 - share * .5}%)`;
        c.fillRect(from, top + i * high, Math.max(.6, till - from + .4), high);
      }));
    }
    function bars(c, dark) {
      r.bars.forEach((b, i) => {
        const from = x(b.f), till = x(b.t);
        if (till < left || from > wide) { return; }
        const size = r.sizes[b.r] || 1, unit = (high - 3) / size;
        const y = top + b.r * high + 1 + r.lanes[i] * unit, h = Math.max(1, b.u * unit - (high > 14 ? 1 : 0)) || high - 3;
        const w = Math.max(1, till - from - .5);
        c.fillStyle = dark ? `hsl(${hue(b.j)} 45% 42%)` : `hsl(${hue(b.j)} 55% 72%)`;
        c.fillRect(from, y, w, h);
        if (b.v === "Backfill") { c.fillStyle = dark ? `hsl(${hue(b.j)} 70% 68%)` : `hsl(${hue(b.j)} 60% 42%)`; c.fillRect(from, y, Math.min(3, w), h); }
        if (b.s !== "Completed" && b.s !== "Running") { c.fillStyle = color("--bad"); c.fillRect(till - Math.min(3, w), y, Math.min(3, w), h); }
        if (h > 9 && w > 22) {
          c.save(); c.beginPath(); c.rect(from, y, w, h); c.clip();
          c.fillStyle = dark ? "#fff" : "#17202b"; c.textAlign = "left";
          c.fillText(r.jobs[b.j], Math.max(from, left) + 6, y + h / 2); c.restore();
        }
        hits.push([from, y, w, h, b]);
      });
    }
    canvas.addEventListener("mousemove", e => {
      const box = canvas.getBoundingClientRect(), px = e.clientX - box.left, py = e.clientY - box.top;
      let text = "";
      if (r.grid) {
        const i = Math.floor((py - top) / high), t = view.from + (px - left) / (wide - left - 8) * (view.till - view.from), k = Math.floor(t / r.gridStep);
        const share = r.grid[i] && r.grid[i][k];
        if (share !== undefined && px > left) { text = length(k * r.gridStep) + ": " + share + " % in use"; }
      } else {
        const hit = hits.findLast(h => px >= h[0] && px <= h[0] + h[2] && py >= h[1] && py <= h[1] + h[3]);
        if (hit) {
          const b = hit[4];
          text = r.jobs[b.j] + " on " + r.nodes[b.r] + "\n" + length(b.f) + " to " + length(b.t) + " (" + length(b.t - b.f) + ")\nwaited " + length(b.w) +
            "\n" + (b.v === "Backfill" ? "backfilled" : "in order") + ", " + b.s + "\n" + plain(b.u) + " " + r.unit;
        }
      }
      show(text, e);
    });
    canvas.addEventListener("mouseleave", () => show(""));
    canvas.addEventListener("wheel", e => {
      if (!e.ctrlKey && !e.metaKey) { return; }
      e.preventDefault();
      const box = canvas.getBoundingClientRect(), t = view.from + Math.max(0, e.clientX - box.left - left) / (wide - left - 8) * (view.till - view.from);
      const f = e.deltaY > 0 ? 1.2 : 1 / 1.2;
      move(t - (t - view.from) * f, t + (view.till - t) * f);
    }, { passive: false });
    let held = null;
    canvas.addEventListener("pointerdown", e => { held = { x: e.clientX, from: view.from, till: view.till }; });
    window.addEventListener("pointerup", () => { held = null; });
    canvas.addEventListener("pointermove", e => {
      if (!held) { return; }
      const by = (held.x - e.clientX) / (wide - left - 8) * (held.till - held.from);
      move(held.from + by, held.till + by);
    });
    canvas.addEventListener("dblclick", () => move(whole.from, whole.till));
    redraws.push(draw);
    return side;
  }
  function move(from, till) {
    const long = Math.max(10, Math.min(whole.till - whole.from, till - from));
    view.from = Math.max(whole.from, Math.min(from, whole.till - long));
    view.till = view.from + long;
    redraws.forEach(f => f());
  }
  function show(text, e) {
    tip.hidden = !text;
    if (!text) { return; }
    tip.textContent = text;
    tip.style.left = Math.min(innerWidth - tip.offsetWidth - 12, e.clientX + 14) + "px";
    tip.style.top = Math.min(innerHeight - tip.offsetHeight - 12, e.clientY + 14) + "px";
  }

  // Lines over time.
  function chart(id, pick, words, ceiling) {
    const W = 1180, H = 190, L = 56, B = 24, T = 8;
    const end = whole.till;
    const scale = ceiling ? [0, .25, .5, .75, 1].map(f => f * ceiling) : marks(Math.max(1, ...runs.map(r => Math.max(0, ...pick(r).values))), false);
    const most = scale[scale.length - 1];
    const x = t => L + t / end * (W - L - 10), y = v => T + (1 - Math.min(1, v / most)) * (H - T - B);
    const svg = node("svg", { viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": document.getElementById("h-" + id).textContent });
    for (const v of scale) {
      svg.append(node("line", { class: "guide", x1: L, x2: W - 10, y1: y(v), y2: y(v) }));
      const t = node("text", { x: L - 8, y: y(v) + 4, "text-anchor": "end" }); t.textContent = words(v); svg.append(t);
    }
    for (const s of steps(0, end, 9)) {
      const t = node("text", { x: x(s), y: H - 6, "text-anchor": x(s) > W - 40 ? "end" : "middle" }); t.textContent = length(s); svg.append(t);
    }
    runs.forEach((r, i) => {
      const { step, values } = pick(r);
      let d = "";
      values.forEach((v, k) => { d += (k === 0 ? "M" : "L") + x(Math.min(end, k * step)).toFixed(1) + " " + y(v).toFixed(1) + "L" + x(Math.min(r.end, (k + 1) * step)).toFixed(1) + " " + y(v).toFixed(1); });
      if (!d) { return; }
      if (!two) { svg.append(node("path", { d: d + `L${x(r.end).toFixed(1)} ${y(0)}L${x(0)} ${y(0)}Z`, fill: ink(i), opacity: .14 })); }
      svg.append(node("path", { d, fill: "none", stroke: ink(i), "stroke-width": 1.6, "stroke-linejoin": "round", opacity: two && i === 1 ? .85 : 1 }));
    });
    svg.addEventListener("mousemove", e => {
      const box = svg.getBoundingClientRect(), t = Math.max(0, ((e.clientX - box.left) / box.width * W - L) / (W - L - 10) * end);
      show(length(t) + "\n" + runs.map(r => (two ? r.label + ": " : "") + words(pick(r).values[Math.min(pick(r).values.length - 1, Math.floor(t / pick(r).step))] ?? 0)).join("\n"), e);
    });
    svg.addEventListener("mouseleave", () => show(""));
    const box = document.getElementById(id);
    if (two) { box.append(legend()); }
    box.append(svg);
  }

  // Waits by size.
  function waits() {
    const sizes = [...new Set(runs.flatMap(r => r.classes.map(c => c.size)))].sort((a, b) => a - b);
    if (sizes.length === 0) { return; }
    const W = 1180, H = 240, L = 56, B = 40, T = 10;
    const scale = marks(Math.max(1, ...runs.flatMap(r => r.classes.map(c => c.p95))), true);
    const most = scale[scale.length - 1];
    const y = v => T + (1 - v / most) * (H - T - B);
    const svg = node("svg", { viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": "Waits by job size" });
    for (const v of scale) {
      svg.append(node("line", { class: "guide", x1: L, x2: W - 10, y1: y(v), y2: y(v) }));
      const t = node("text", { x: L - 8, y: y(v) + 4, "text-anchor": "end" }); t.textContent = length(v); svg.append(t);
    }
    const slot = (W - L - 10) / sizes.length, bar = Math.min(46, slot * .7 / runs.length);
    sizes.forEach((size, k) => {
      const middle = L + slot * (k + .5);
      const low = size === 1 ? 1 : size / 2 + 1;
      const name = node("text", { x: middle, y: H - 22, "text-anchor": "middle" }); name.textContent = low >= size ? size : low + "–" + size; svg.append(name);
      runs.forEach((r, i) => {
        const c = r.classes.find(c => c.size === size);
        if (!c) { return; }
        const x = middle + (i - runs.length / 2) * bar + 1;
        const g = node("g");
        g.append(node("rect", { x, y: y(c.mean), width: bar - 2, height: Math.max(1, y(0) - y(c.mean)), fill: ink(i), rx: 2, opacity: .85 }));
        g.append(node("line", { x1: x + bar / 2 - 1, x2: x + bar / 2 - 1, y1: y(c.mean), y2: y(c.p95), stroke: ink(i), "stroke-width": 1.5 }));
        g.append(node("line", { x1: x + bar * .2, x2: x + bar * .8 - 2, y1: y(c.p95), y2: y(c.p95), stroke: ink(i), "stroke-width": 1.5 }));
        g.append(node("rect", { x, y: T, width: bar, height: H - T - B, fill: "transparent" }));
        g.addEventListener("mousemove", e => show((two ? r.label + "\n" : "") + c.jobs.toLocaleString("en") + (c.jobs === 1 ? " job" : " jobs") + "\nmean " + length(c.mean) + "\nmedian " + length(c.median) + "\n95 % waited at most " + length(c.p95), e));
        g.addEventListener("mouseleave", () => show(""));
        svg.append(g);
      });
    });
    const unit = node("text", { x: L + (W - L) / 2, y: H - 4, "text-anchor": "middle" });
    unit.textContent = runs[0].unit + " of a job; bar: mean, whisker: 95 % waited at most"; svg.append(unit);
    const box = document.getElementById("waits");
    if (two) { box.append(legend()); }
    box.append(svg);
  }

  function jobs() {
    if (runs.every(r => r.table.length === 0)) { document.getElementById("jobs-section").hidden = true; return; }
    const box = document.getElementById("jobs");
    runs.forEach((r, i) => {
      if (two) { box.append(node("h3", {}, r.label)); }
      const body = node("tbody");
      const at = t => t === null || t === undefined ? "–" : length(t);
      r.table.forEach(j => {
        const cells = [j.job, j.state, at(j.submit), j.start !== null ? at(j.start) : j.planned !== null ? "~" + length(j.planned) : "–", at(j.end),
          j.start !== null ? length(j.start - j.submit) : "–", j.via || "–", j.pods, j.nodes || "–"];
        body.append(node("tr", {}, ...cells.map(c => node("td", { class: "n" }, String(c))), node("td", {}, j.why)));
      });
      const head = node("tr", {}, ...["job", "state", "submitted", "start", "end", "waited", "via", "pods", "nodes", "why it waits"].map(h => node("th", { scope: "col" }, h)));
      box.append(node("div", { class: "wide" }, node("table", {}, node("thead", {}, head), body)));
    });
  }

  tiles();
  const sides = document.getElementById("gantt");
  if (two) { sides.classList.add("two"); }
  runs.forEach((r, i) => sides.append(gantt(r, i)));
  chart("queue", r => r.queue, plain);
  chart("used", r => r.used, v => Math.round(100 * v) + " %", 1);
  waits();
  jobs();
  const zoom = f => { const middle = (view.from + view.till) / 2, half = (view.till - view.from) / 2 * f; move(middle - half, middle + half); };
  document.getElementById("closer").addEventListener("click", () => zoom(.5));
  document.getElementById("wider").addEventListener("click", () => zoom(2));
  document.getElementById("all").addEventListener("click", () => move(whole.from, whole.till));
  document.getElementById("theme").addEventListener("click", () => {
    const root = document.documentElement;
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
    redraws.forEach(f => f());
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => redraws.forEach(f => f()));
  window.addEventListener("resize", () => redraws.forEach(f => f()));
  redraws.forEach(f => f());
})();
