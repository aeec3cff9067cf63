// SPDX-License-Identifier: BSD-2-Clause
// Charts over time, and of flow completion times.
(function () {
const made = []; // how to make each again when the colours change
const sync = uPlot.sync("time");
const WHOLE = Array.from({length: 13}, (_, k) => [1, 2, 5].map(m => m * 10 ** k)).flat(); // steps of what is counted

function axes(xText, xLabel, yUnit, isWhole) {
	const common = {
		stroke: () => colour("muted"),
		grid: {stroke: () => colour("grid"), width: 1},
		ticks: {stroke: () => colour("grid"), width: 1, size: 4},
		font: "12px system-ui, sans-serif",
		labelFont: "12px system-ui, sans-serif",
		labelSize: 18,
	};
	const number = v => v === null ? "" : String(Number(v.toPrecision(6)));
	return [
		{...common, label: xLabel, size: 34, values: (u, splits) => splits.map(v => v === null ? "" : (xText || number)(v))},
		{...common, size: 56, values: (u, splits) => splits.map(v => number(v)), label: yUnit, gap: 2,
			...(isWhole ? {incrs: WHOLE} : {})},
	];
}

// One chart: {title, text, x, xUnit, series: [{label, values, format}], yUnit, divide}
function chart(holder, spec) {
	const figure = element("figure", {class: "chart idle"}); // nothing is pointed at: the legend has names alone
	const caption = element("figcaption", {}, element("b", {}, spec.title), " ", element("span", {}, spec.text));
	const box = element("div", {class: "plot", role: "img", "aria-label": `${spec.title}. ${spec.text}`});
	figure.append(caption, box);
	holder.append(figure);
	let plot = null;
	const width = () => Math.max(260, box.clientWidth);
	// The moment that is looked at, as a band.
	const band = u => {
		if (!spec.shared || moment.frame === null) return;
		const from = u.valToPos(moment.begin(moment.frame) / spec.scale, "x", true);
		const to = u.valToPos(moment.end(moment.frame) / spec.scale, "x", true);
		u.ctx.save();
		u.ctx.globalAlpha = 0.3;
		u.ctx.fillStyle = colour("accent");
		u.ctx.fillRect(Math.max(from, u.bbox.left), u.bbox.top, Math.max(2, to - from), u.bbox.height);
		u.ctx.restore();
	};
	const make = () => {
		if (plot) plot.destroy();
		plot = new uPlot({
			width: width(), height: 220,
			padding: [12, spec.xTick ? 30 : 14, 0, 0], // half of a label hangs over
			cursor: {sync: spec.shared ? {key: sync.key} : undefined, drag: {x: true, y: false},
				points: {size: 7}, y: false},
			scales: {x: {time: false, distr: spec.logX ? 3 : 1},
				y: {range: (u, min, max) => [0, max > 0 ? max * 1.06 : 1]}},
			axes: axes(spec.xTick, spec.xLabel, spec.yLabel, spec.isWhole),
			legend: {live: true},
			hooks: {draw: [band], setLegend: [u => figure.classList.toggle("idle", !exists(u.legend.idx))]},
			series: [
				{label: spec.xName || "time", value: (u, v) => exists(v) ? spec.xFormat(v) : NOTHING},
				...spec.series.map((one, i) => ({
					label: one.label,
					stroke: () => lineColour(i),
					fill: spec.series.length === 1 ? () => lineColour(i) + "22" : undefined,
					width: 1.75,
					dash: i >= 4 ? [6, 4] : undefined,
					points: {show: Boolean(spec.dots), size: 6},
					paths: spec.stepped ? uPlot.paths.stepped({align: spec.stepped}) : undefined,
					value: (u, v) => exists(v) ? spec.yFormat(v) : NOTHING,
				})),
			],
		}, [spec.x, ...spec.series.map(one => one.values)], box);
	};
	make();
	made.push(make);
	new ResizeObserver(() => { if (plot && plot.width !== width()) plot.setSize({width: width(), height: 220}); })
		.observe(box);
	if (!spec.shared || !data.frames) return;
	moment.listeners.push(() => plot.redraw(false));
	box.addEventListener("click", () => {
		if (plot.cursor.left >= 0 && plot.select.width === 0)
			moment.set(moment.at(plot.posToVal(plot.cursor.left, "x") * spec.scale));
	});
}

// ---- over time ----

// Of totals at the points: how much came in each interval, in a second.
function perSecond(at, totals) {
	return totals.map((value, i) => i === 0 ? 0 : (value - totals[i - 1]) * PS / (at[i] - at[i - 1]));
}
function perInterval(totals) {
	return totals.map((value, i) => i === 0 ? 0 : value - totals[i - 1]);
}
const highest = values => values.reduce((max, v) => v > max ? v : max, 0);
const last = values => values[values.length - 1];

function overTime(series) {
	const holder = document.getElementById("charts");
	const at = series.at_ps, [unit, size] = unitOf(at, TIMES), x = at.map(ps => ps / size);
	const time = {x, shared: true, scale: size, xLabel: `virtual time, ${unit}`, xFormat: v => timeText(v * size), stepped: -1};
	const whenOf = (values, max) => timeText(at[values.indexOf(max)]);
	const scaledSeries = (list, units) => {
		const [name, by] = unitOf(list.map(one => highest(one.values)), units);
		return {name, by, list: list.map(one => ({...one, values: one.values.map(v => v / by)}))};
	};

	if (series.queues.length) {
		const top = series.queues[0], max = highest(top.bytes);
		const q = scaledSeries(series.queues.map(one => ({label: `${one.node} → ${one.peer}`, values: one.bytes})),
			BYTES);
		chart(holder, {...time, title: "Queues", series: q.list, yLabel: q.name,
			text: `of the ports with the longest ones; ${top.node} towards ${top.peer} held up to ` +
				`${bytesText(max)} at ${whenOf(top.bytes, max)}`,
			yFormat: v => bytesText(v * q.by)});
	}

	const rates = [{label: "arrived in memory", values: perSecond(at, series.placed_bytes).map(v => v * 8)}];
	for (const priority of Object.keys(series.sent_bytes))
		rates.push({label: `sent, priority ${priority}`,
			values: perSecond(at, series.sent_bytes[priority]).map(v => v * 8)});
	const r = scaledSeries(rates, RATES);
	chart(holder, {...time, title: "Rate", series: r.list, yLabel: r.name,
		text: "payload that arrived, and what hosts sent (headers and repetitions included)",
		yFormat: v => rateText(v * r.by)});

	const paused = perSecond(at, series.paused_ps).map(v => v / PS);
	if (last(series.paused_ps) > 0)
		chart(holder, {...time, title: "Paused", series: [{label: "paused at once", values: paused}],
			text: `queues (priorities of ports) that had to stand still, on average; up to ` +
				`${plainText(highest(paused))} at once`,
			yLabel: "queues", yFormat: plainText});

	const counts = [["marked (ECN)", series.marked], ["CNPs sent", series.cnp_sent], ["lost", series.dropped],
		["sent again", series.retransmitted], ["pause frames", series.pause_sent]]
		.filter(([, totals]) => last(totals) > 0)
		.map(([label, totals]) => ({label, values: perInterval(totals)}));
	if (counts.length)
		chart(holder, {...time, title: "Signals and losses", series: counts, yLabel: "packets", isWhole: true,
			text: "packets in each interval of the record", yFormat: plainText});

	const active = series.active.filter(one => highest(one.flows) > 0)
		.map(one => ({label: one.class, values: one.flows}));
	if (active.length)
		chart(holder, {...time, title: "Flows under way", series: active, yLabel: "flows", isWhole: true,
			text: "started and not yet acknowledged, by class", yFormat: plainText});
}

// ---- flow completion times ----

function fctChart() {
	const holder = document.getElementById("fct-charts");
	const classes = data.cdf.filter(one => one.count > 0);
	if (!holder || classes.length === 0) return;
	const all = [...new Set(classes.flatMap(one => one.fct_ps))].sort((a, b) => a - b);
	if (all.length < 2) return;
	const [unit, size] = unitOf([last(all)], TIMES);
	const series = classes.map(one => {
		let k = 0;
		return {label: one.class, values: all.map(ps => {
			while (k < one.fct_ps.length && one.fct_ps[k] <= ps) k++;
			return k === 0 ? 0 : one.rank[k - 1] / one.count * 100;
		})};
	});
	chart(holder, {x: all.map(ps => ps / size), xLabel: `flow completion time, ${unit}`, xName: "FCT",
		xFormat: v => timeText(v * size), logX: last(all) / all[0] > 20, stepped: 1, series,
		title: "How long flows took", yLabel: "% of flows", yFormat: v => v.toFixed(1) + "\u202f%",
		text: "share of the completed flows of each class that took no longer"});
}

// ---- slowdown by size ----

function slowdownBySize() {
	const holder = document.getElementById("slowdown-by-size");
	if (!holder || !data.slowdowns.some(one => one.count.length)) return;
	const figures = element("div", {class: "charts wide"}), tableBox = element("div", {class: "scroll", tabindex: 0, role: "region",
		"aria-label": "Slowdown by size"});
	const choice = element("select", {id: "slowdown-class"});
	data.slowdowns.forEach((one, i) => choice.append(element("option", {value: i}, one.class === null ? "all flows" : one.class)));
	const controls = element("div", {class: "controls"}, element("label", {for: "slowdown-class"}, "Slowdown by size, of "), choice);
	if (data.slowdowns.length > 1) holder.append(controls);
	holder.append(figures, tableBox);
	const times = millionths => (millionths / 1e6).toFixed(2);
	const sizeText = (bins, i) => bins.least_bytes[i] === bins.most_bytes[i] ? bytesText(bins.least_bytes[i])
		: `${bytesText(bins.least_bytes[i])} to ${bytesText(bins.most_bytes[i])}`;
	const kinds = [["median", "p50_millionths"], ["p95", "p95_millionths"], ["p99", "p99_millionths"]];
	const show = () => {
		const bins = data.slowdowns[Number(choice.value)];
		const body = element("tbody", {}, ...bins.count.map((n, i) => element("tr", {},
			element("td", {"data-v": bins.least_bytes[i]}, sizeText(bins, i)), element("td", {"data-v": n}, String(n)),
			...kinds.map(([, key]) => element("td", {"data-v": bins[key][i]}, times(bins[key][i]))))));
		tableBox.replaceChildren(element("table", {id: "slowdown-table"},
			element("caption", {}, "Slowdown of completed flows by size; a bin holds the sizes of a power of two"),
			element("thead", {}, element("tr", {}, ...["size", "flows", "median", "p95", "p99"]
				.map(text => element("th", {scope: "col"}, text)))), body));
		figures.replaceChildren();
		if (bins.count.length < 2) return;
		chart(figures, {x: bins.most_bytes, xLabel: "size", xName: "up to", xFormat: bytesText, xTick: bytesText, logX: true, dots: true,
			series: kinds.map(([label, key]) => ({label, values: bins[key].map(v => v / 1e6)})),
			title: "Slowdown by size", yLabel: "slowdown", yFormat: v => v.toFixed(2),
			text: "how many times longer than on an idle fabric, by the largest size of each bin"});
	};
	choice.addEventListener("change", show);
	show();
}

if (data.series) overTime(data.series);
fctChart();
slowdownBySize();
theme.listeners.push(() => made.forEach(make => make()));
})();
