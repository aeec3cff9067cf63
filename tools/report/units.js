// SPDX-License-Identifier: BSD-2-Clause
// What the parts below share: the data of the page, numbers as people read them, colours.
"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const PS = 1e12; // a second

// What does not exist: over nothing, not measured, not there in this fabric. Never 0, and never blank.
const NOTHING = "–";
const exists = value => typeof value === "number" && !Number.isNaN(value);

function scaled(value, units) {
	if (!exists(value)) return NOTHING;
	let i = units.length - 1;
	while (i > 0 && Math.abs(value) < units[i][1]) i--;
	value /= units[i][1];
	const digits = value === 0 || Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
	return value.toFixed(digits) + "\u202f" + units[i][0];
}
const TIMES = [["ps", 1], ["ns", 1e3], ["µs", 1e6], ["ms", 1e9], ["s", 1e12]];
const BYTES = [["B", 1], ["KB", 1e3], ["MB", 1e6], ["GB", 1e9], ["TB", 1e12]];
const RATES = [["b/s", 1], ["kb/s", 1e3], ["Mb/s", 1e6], ["Gb/s", 1e9], ["Tb/s", 1e12]];
const timeText = ps => scaled(ps, TIMES);
const bytesText = bytes => scaled(bytes, BYTES);
const rateText = bps => scaled(bps, RATES);
const plainText = value => !exists(value) ? NOTHING :
	Number.isInteger(value) ? String(value) : value.toFixed(Math.abs(value) < 10 ? 2 : 1);
const percentText = share => !exists(share) ? NOTHING :
	(share * 100).toFixed(share >= 0.1 ? 0 : share >= 0.001 ? 1 : 2) + "\u202f%";

// The unit of an axis: that of its largest value, for all its labels.
function unitOf(values, units) {
	const max = Math.max(...values.map(Math.abs));
	let i = units.length - 1;
	while (i > 0 && max < units[i][1]) i--;
	return units[i];
}

// The one scale of all that shows load, pause or queue: shares of a link's rate, of the time, and of the longest
// queue of the run. Step 0 is nothing at all, the others go up to these.
const HEAT = [0, 0.05, 0.2, 0.4, 0.7, 1];
const heatOf = share => !exists(share) || share <= 0 ? 0 : HEAT.findIndex((most, k) => k > 0 && (share <= most || k === HEAT.length - 1));

const colours = new Map(); // forgotten when the scheme changes
function colour(name) {
	if (!colours.has(name))
		colours.set(name, getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim());
	return colours.get(name);
}
const lineColour = i => colour("line-" + (i % 8));

// Names may hold anything, so they only ever become text nodes.
function element(name, attributes, ...children) {
	const made = document.createElement(name);
	for (const key in attributes) made.setAttribute(key, attributes[key]);
	made.append(...children);
	return made;
}

// ---- the state of the page, kept in the address so that it can be passed on ----

const state = new URLSearchParams(location.hash.includes("=") ? location.hash.slice(1) : "");
function setState(key, value) {
	if (value === null || value === "") state.delete(key);
	else state.set(key, value);
	try {
		history.replaceState(null, "", "#" + state);
	} catch (error) { /* not allowed where the page is shown: then it is not kept */ }
}

// The moment that is looked at: a frame, or null for the whole run. Whoever shows it listens.
const moment = {
	frame: null,
	listeners: [],
	set(frame) {
		if (frame === moment.frame) return;
		moment.frame = frame;
		moment.listeners.forEach(listener => listener(frame));
	},
	begin: frame => frame === 0 ? 0 : data.frames.at_ps[frame - 1],
	end: frame => data.frames.at_ps[frame],
	// The frame in which something at @ps happens.
	at(ps) {
		const found = data.frames.at_ps.findIndex(end => ps <= end);
		return found === -1 ? data.frames.at_ps.length - 1 : found;
	},
};

// ---- light and dark ----

const theme = {
	listeners: [],
	isDark: () => (document.documentElement.dataset.theme ||
		(matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark",
	set(name) {
		if (name) document.documentElement.dataset.theme = name;
		else delete document.documentElement.dataset.theme;
		theme.changed();
	},
	changed() {
		colours.clear();
		theme.listeners.forEach(listener => listener());
	},
};
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", theme.changed);
if (state.has("theme")) theme.set(state.get("theme"));

// h2 before h10.
const natural = new Intl.Collator("en", {numeric: true}).compare;
