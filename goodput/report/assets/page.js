// Draws the charts of a report. Their figures are in the element #charts; where each stands is in data-chart.
(() => {
	"use strict";
	const started = performance.now();
	const charts = JSON.parse(document.getElementById("charts").textContent);
	const root = document.documentElement;
	const live = document.getElementById("live");
	const font = '12px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif';
	let colours = {};

	const colour = (name) => (colours[name] ??= getComputedStyle(root).getPropertyValue("--" + name).trim());

	// A sequence goes over three colours, from the palest to the strongest.
	const rampAt = (share) => {
		const hex = (name) => [1, 3, 5].map((i) => parseInt(colour(name).slice(i, i + 2), 16));
		const [a, b] = share < 0.5 ? [hex("ramp-a"), hex("ramp-b")] : [hex("ramp-b"), hex("ramp-c")];
		const t = share < 0.5 ? share * 2 : share * 2 - 1;
		return "rgb(" + a.map((v, i) => Math.round(v + (b[i] - v) * t)).join(",") + ")";
	};

	const seriesColour = (chart, i) => {
		const s = chart.series[i];
		if (s.role === "ramp") {
			const ramp = chart.series.filter((o) => o.role === "ramp");
			return rampAt(ramp.length < 2 ? 1 : ramp.indexOf(s) / (ramp.length - 1));
		}
		if (s.role) return colour(s.role);
		return colour("c" + (chart.series.slice(0, i).filter((o) => !o.role).length % 8));
	};

	const digits = (v, n) => {
		const a = Math.abs(v);
		const d = a === 0 ? 0 : Math.min(Math.max(n - 1 - Math.floor(Math.log10(a)), 0), 9);
		return v.toLocaleString("en-US", { minimumFractionDigits: 0, maximumFractionDigits: d });
	};
	const seconds = (v, n) => {
		const a = Math.abs(v);
		if (a === 0) return "0 s";
		if (a >= 0.9995) return digits(v, n) + " s";
		if (a >= 0.9995e-3) return digits(v * 1e3, n) + " ms";
		return a >= 0.9995e-6 ? digits(v * 1e6, n) + " µs" : digits(v * 1e9, n) + " ns";
	};
	const text = (axis, v, n = 3) => {
		if (v == null) return "–";
		switch (axis.unit) {
			case "": return digits(v, n);
			case "s": return seconds(v, n);
			case "ratio": return digits(v * 100, n) + " %";
			case "/s": return digits(v, n) + "/s";
			case "percentile": return percentile(v);
			case "category": return axis.names[Math.round(v)] ?? "";
		}
		return digits(v, n) + " " + axis.unit;
	};

	// Percentiles are drawn with equal steps for equally many nines.
	const nines = (p) => -Math.log10(1 - p / 100);
	const percentile = (at) => {
		const p = 100 * (1 - 10 ** -at);
		return at === 0 ? "min" : "P" + Number(p.toPrecision(6));
	};

	const longTime = (axis, max) => axis.unit === "s" && !axis.log && max >= 120;
	const clock = (v, max) => (max >= 7200 ? digits(v / 3600, 3) + " h" : digits(v / 60, 3) + " min");

	// Names stand at the top of a chart, above what is drawn, where it has any.
	const rangeOf = (values, axis, named) => {
		const seen = values.filter((v) => v != null && (!axis.log || v > 0));
		let lo = Math.min(...seen), hi = Math.max(...seen);
		if (seen.length === 0) [lo, hi] = [axis.log ? 0.1 : 0, 1];
		if (axis.log) return [lo / 1.25, hi * Math.max(1.25, named ? (hi / lo) ** 0.17 : 0)];
		if (axis.unit === "ratio") return [0, Math.max(1, hi) * (named ? 1.2 : 1.04)];
		return [Math.min(0, lo), hi > 0 ? hi * (named ? 1.22 : 1.08) : 1];
	};

	const decades = (min, max) => {
		const all = [];
		for (let e = Math.floor(Math.log10(min)); e <= Math.ceil(Math.log10(max)); e++) for (const m of [1, 2, 5]) all.push(m * 10 ** e);
		const inside = all.filter((v) => v >= min * 0.999 && v <= max * 1.001);
		if (inside.length <= 9) return inside;
		return inside.filter((v) => Math.abs(Math.log10(v) - Math.round(Math.log10(v))) < 1e-9);
	};

	const build = (place) => {
		const chart = charts[place.dataset.chart];
		const width = place.printWidth ?? Math.max(place.clientWidth, 200);
		const xs = chart.x.unit === "percentile" ? chart.at.map(nines) : chart.at;
		const xAt = (v) => (chart.x.unit === "percentile" ? nines(v) : v);
		const raw = chart.series.map((s) => s.values);
		let drawn = raw;
		let order = chart.series.map((_, i) => i);
		if (chart.stacked) {
			const sums = xs.map(() => 0);
			drawn = raw.map((values) => values.map((v, k) => (v == null ? null : (sums[k] += v))));
			order.reverse(); // what is on top is drawn first, and what is beneath over it
		}
		if (chart.y.log) drawn = drawn.map((values) => values.map((v) => (v > 0 ? v : null)));

		const yRange = rangeOf([...drawn, ...chart.series.flatMap((s) => [s.lo ?? [], s.hi ?? []]), (chart.lines ?? []).filter((l) => !l.x).map((l) => l.at),
			(chart.points ?? []).map((p) => p.y)].flat(), chart.y, (chart.bands ?? []).length > 0 || (chart.lines ?? []).some((l) => l.x));
		let xRange;
		const last = xs[xs.length - 1];
		if (chart.x.unit === "category") xRange = [-0.6, xs.length - 0.4];
		else if (chart.x.unit === "percentile") xRange = [-0.12, Math.max(last, ...(chart.points ?? []).map((p) => nines(p.x))) + 0.2];
		else if (chart.x.log) xRange = [xs[0] / 1.15, last * 1.15];
		else xRange = [Math.min(0, xs[0]), chart.series.some((s) => s.steps) ? last : last * 1.04 || 1];

		// Of the ticks asked for, those whose texts do not touch.
		const label = (v) => (longTime(chart.x, last) ? clock(v, last) : chart.x.unit === "category" ? shorten(text(chart.x, v), 18) : text(chart.x, v));
		const asked = chart.x.unit === "category" || chart.x.unit === "percentile" ? xs : chart.x.ticks;
		const share = (v) => (chart.x.log ? Math.log(v / xRange[0]) / Math.log(xRange[1] / xRange[0]) : (v - xRange[0]) / (xRange[1] - xRange[0]));
		const ticks = () => {
			const free = [];
			let until = Infinity;
			for (const v of [...asked].reverse()) {
				const at = share(v) * (width - 70), half = label(v).length * 3.4 + 5;
				if (at + half <= until) {
					free.unshift(v);
					until = at - half;
				}
			}
			return free;
		};

		const axis = { font, stroke: colour("muted"), grid: { stroke: colour("grid"), width: 1 }, ticks: { stroke: colour("grid"), width: 1, size: 5 } };
		const xAxis = { ...axis, label: chart.x.label, labelFont: font, labelSize: 18, size: 30, values: (u, splits) => splits.map(label), filter: (u, s) => s };
		if (asked) xAxis.splits = ticks;
		else if (longTime(chart.x, last)) xAxis.incrs = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400];
		if (chart.x.unit === "category") xAxis.grid = { show: false };
		const yAxis = { ...axis, size: 62, label: ["s", "ratio", "/s"].includes(chart.y.unit) ? undefined : chart.y.label, labelFont: font, labelSize: 18, values: (u, splits) => splits.map((v) => text(chart.y, v)), filter: (u, s) => s };
		if (chart.y.unit === "ratio") yAxis.splits = () => [0, 0.2, 0.4, 0.6, 0.8, 1];
		if (chart.y.log) yAxis.splits = (u, i, min, max) => decades(min, max);

		const series = [{ label: chart.x.label, value: (u, v) => (v == null ? "–" : label(v)) }];
		for (const i of order) {
			const s = chart.series[i], c = seriesColour(chart, i);
			const one = {
				label: s.name, stroke: c, width: 2, spanGaps: false,
				value: (u, v, si, k) => (k == null ? "–" : text(chart.y, raw[i][k])),
				points: { show: !s.steps && !chart.stacked && xs.length <= 40, size: 6, fill: c },
			};
			if (s.dashed) one.dash = [6, 5];
			if (s.role === "offered") one.width = 1;
			if (s.steps) one.paths = uPlot.paths.stepped({ align: 1 });
			if (s.role === "good" && s.steps) one.fill = colour("good-fill");
			if (chart.stacked) Object.assign(one, { fill: c, width: 0, paths: uPlot.paths.bars({ size: [0.62, 72] }) });
			series.push(one);
		}

		const ratio = devicePixelRatio || 1;
		const write = (u, said, x, y, align) => {
			const { ctx, bbox } = u;
			ctx.font = 12 * ratio + "px" + font.slice(4);
			const w = ctx.measureText(said).width;
			let left = align === "right" ? x - w : align === "center" ? x - w / 2 : x;
			left = Math.max(bbox.left + 3 * ratio, Math.min(left, bbox.left + bbox.width - w - 3 * ratio));
			ctx.textAlign = "left";
			ctx.textBaseline = "middle";
			ctx.lineJoin = "round";
			ctx.lineWidth = 4 * ratio;
			ctx.strokeStyle = colour("surface");
			ctx.strokeText(said, left, y);
			ctx.fillStyle = colour("text");
			ctx.fillText(said, left, y);
		};
		const row = (u, n) => u.bbox.top + (10 + 16 * n) * ratio;

		const shade = (u) => {
			const { ctx, bbox } = u;
			ctx.save();
			for (const b of chart.bands ?? []) {
				ctx.fillStyle = colour(b.interval ? "interval" : "band");
				const from = Math.max(u.valToPos(xAt(b.from), "x", true), bbox.left), to = Math.min(u.valToPos(xAt(b.to), "x", true), bbox.left + bbox.width);
				if (to > from) ctx.fillRect(from, bbox.top, to - from, bbox.height);
			}
			ctx.restore();
		};
		const overlay = (u) => {
			const { ctx, bbox } = u;
			const end = bbox.left + bbox.width;
			ctx.save();
			chart.series.forEach((s, i) => {
				ctx.strokeStyle = seriesColour(chart, i);
				ctx.lineWidth = 1.5 * ratio;
				(s.lo ?? []).forEach((lo, k) => {
					const hi = s.hi[k];
					if (lo == null || hi == null || (chart.y.log && !(lo > 0))) return;
					const x = u.valToPos(xs[k], "x", true), a = u.valToPos(lo, "y", true), b = u.valToPos(hi, "y", true);
					ctx.beginPath();
					for (const y of [a, b]) {
						ctx.moveTo(x - 4 * ratio, y);
						ctx.lineTo(x + 4 * ratio, y);
					}
					ctx.moveTo(x, a);
					ctx.lineTo(x, b);
					ctx.stroke();
				});
			});
			ctx.strokeStyle = colour("slo");
			ctx.lineWidth = 1.5 * ratio;
			let rows = 0;
			for (const l of chart.lines ?? []) {
				const at = u.valToPos(l.x ? xAt(l.at) : l.at, l.x ? "x" : "y", true);
				ctx.setLineDash(l.x ? [3 * ratio, 3 * ratio] : [8 * ratio, 4 * ratio]);
				ctx.beginPath();
				ctx.moveTo(l.x ? at : bbox.left, l.x ? bbox.top : at);
				ctx.lineTo(l.x ? at : end, l.x ? bbox.top + bbox.height : at);
				ctx.stroke();
			}
			ctx.setLineDash([]);
			for (const l of chart.lines ?? []) {
				const at = u.valToPos(l.x ? xAt(l.at) : l.at, l.x ? "x" : "y", true);
				if (l.x) write(u, l.name, at - 6 * ratio, row(u, rows++), "right");
				else write(u, l.name, bbox.left + 6 * ratio, at - 9 * ratio > bbox.top ? at - 9 * ratio : at + 9 * ratio, "left");
			}
			for (const b of chart.bands ?? []) {
				const from = Math.max(u.valToPos(xAt(b.from), "x", true), bbox.left), to = Math.min(u.valToPos(xAt(b.to), "x", true), end);
				if (to > from) write(u, b.name, (from + to) / 2, row(u, rows++), "center");
			}
			for (const p of chart.points ?? []) {
				const x = u.valToPos(xAt(p.x), "x", true), y = u.valToPos(p.y, "y", true), r = 6 * ratio;
				ctx.beginPath();
				ctx.moveTo(x, y - r);
				ctx.lineTo(x + r, y);
				ctx.lineTo(x, y + r);
				ctx.lineTo(x - r, y);
				ctx.closePath();
				ctx.fillStyle = colour("slo");
				ctx.fill();
				ctx.strokeStyle = colour("surface");
				ctx.stroke();
				write(u, p.name, x - 10 * ratio, y, "right");
			}
			ctx.restore();
			place.dataset.drawn = "yes";
		};

		place.plot?.destroy();
		const plot = new uPlot({
			width, height: place.classList.contains("small") ? 220 : 320,
			scales: { x: { time: false, distr: chart.x.log ? 3 : 1, range: xRange }, y: { distr: chart.y.log ? 3 : 1, range: yRange } },
			axes: [xAxis, yAxis], series, legend: { show: true },
			cursor: { y: false, drag: { x: false, y: false }, points: { size: 8 } },
			hooks: { drawClear: [shade], draw: [overlay] },
		}, [xs, ...order.map((i) => drawn[i])], place);
		place.plot = plot;
		place.say = (k) => (live.textContent = label(xs[k]) + ": " + chart.series.map((s) => s.name + " " + text(chart.y, s.values[k])).join(", "));
	};

	const shorten = (s, n) => (s.length > n ? s.slice(0, n - 1) + "…" : s);

	const places = [...document.querySelectorAll("[data-chart]")];
	const again = () => {
		colours = {};
		places.forEach(build);
	};

	const walk = (event) => {
		const place = event.currentTarget, u = place.plot, n = u.data[0].length;
		const now = u.cursor.idx ?? (event.key === "ArrowLeft" ? n : -1);
		const to = { ArrowLeft: now - 1, ArrowRight: now + 1, Home: 0, End: n - 1 }[event.key];
		if (event.key === "Escape") u.setCursor({ left: -10, top: -10 });
		if (to === undefined) return;
		event.preventDefault();
		const k = Math.max(0, Math.min(to, n - 1));
		u.setCursor({ left: u.valToPos(u.data[0][k], "x"), top: 10 });
		place.say(k);
	};

	again();
	let widths = places.map((p) => p.clientWidth);
	for (const place of places) place.addEventListener("keydown", walk);
	let printing = false;
	new ResizeObserver(() => {
		const now = places.map((p) => p.clientWidth);
		places.forEach((p, i) => {
			if (!printing && now[i] !== widths[i] && now[i] > 0) build(p);
		});
		widths = now;
	}).observe(document.querySelector("main"));
	matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
	matchMedia("(resolution: 1dppx)").addEventListener("change", again);
	addEventListener("beforeprint", () => {
		printing = true;
		root.dataset.print = "yes";
		for (const p of places) p.printWidth = p.classList.contains("small") ? 320 : 660;
		again();
	});
	addEventListener("afterprint", () => {
		delete root.dataset.print;
		for (const p of places) delete p.printWidth;
		again();
		printing = false;
	});
	// uPlot draws when the script is over: what is asked for now comes after that.
	queueMicrotask(() => {
		root.dataset.drawn = performance.now().toFixed(1); // ms since the page was asked for
		root.dataset.took = (performance.now() - started).toFixed(1); // ms of them in this script
	});
})();
