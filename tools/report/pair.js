// SPDX-License-Identifier: BSD-2-Clause
// Two pages beside each other, each from the text that stands in this one. What the address asks for
// (a moment, a search, light or dark) both show; a switch to light or dark in one is for all.
"use strict";
const frames = [...document.querySelectorAll("iframe[data-page]")];
const THEMES = ["dark", "light"], asked = new URLSearchParams(location.hash.slice(1)).get("theme");

if (THEMES.includes(asked)) document.documentElement.dataset.theme = asked;
for (const frame of frames) {
	const page = JSON.parse(document.getElementById(frame.dataset.page).textContent);

	frame.src = URL.createObjectURL(new Blob([page], { type: "text/html" })) + location.hash;
}
document.documentElement.dataset.ready = Math.round(performance.now());
addEventListener("message", event => {
	const theme = event.data && event.data.theme;

	if (!THEMES.includes(theme) || !frames.some(frame => frame.contentWindow === event.source)) return;
	document.documentElement.dataset.theme = theme;
	for (const frame of frames)
		if (frame.contentWindow !== event.source) frame.contentWindow.postMessage({ theme }, "*");
});
