// SPDX-License-Identifier: BSD-2-Clause
// Ways through the page: its parts, light and dark, keys. The last of the scripts.
(function () {
const nav = document.getElementById("ways");
for (const head of document.querySelectorAll("main h2[id]"))
	nav.append(element("a", {href: "#" + head.id}, head.textContent));

const button = element("button", {type: "button", id: "theme"});
const label = () => {
	button.textContent = theme.isDark() ? "Light" : "Dark";
	button.setAttribute("aria-label", theme.isDark() ? "Switch to light colours" : "Switch to dark colours");
};
const turn = () => {
	const name = theme.isDark() ? "light" : "dark";
	theme.set(name);
	setState("theme", name);
	if (parent !== window) parent.postMessage({theme: name}, "*");
};
// As one of two beside each other: what the other one was switched to.
addEventListener("message", event => {
	if (parent !== window && event.source === parent && ["dark", "light"].includes(event.data.theme)) theme.set(event.data.theme);
});
button.addEventListener("click", turn);
theme.listeners.push(label);
label();
nav.append(button);

const focus = id => {
	const found = document.getElementById(id);
	if (!found) return;
	found.focus();
	found.scrollIntoView({block: "center"});
};
const step = by => {
	if (!data.frames) return;
	const last = data.frames.at_ps.length - 1;
	moment.set(moment.frame === null ? (by > 0 ? 0 : last) : Math.min(last, Math.max(0, moment.frame + by)));
};
// The list of keys lies over the page, which stays where it is: afterwards the focus is back where it was.
const list = element("dialog", {id: "help", class: "words", "aria-label": "Keys"}), close = element("button", {type: "button"}, "Close");
list.append(element("div", {class: "controls"}, element("b", {}, "Keys"), close), document.querySelector("#keys dl").cloneNode(true));
document.body.append(list);
let place = null;
function help() {
	if (list.open) {
		list.close();
		return;
	}
	place = {focused: document.activeElement, x: scrollX, y: scrollY};
	list.showModal();
}
list.addEventListener("close", () => {
	place.focused.focus({preventScroll: true});
	scrollTo({left: place.x, top: place.y, behavior: "instant"});
});
close.addEventListener("click", () => list.close());
list.addEventListener("click", event => { if (event.target === list) list.close(); });

const keys = {
	"/": () => focus("flow-field"),
	f: () => focus("find-node"),
	t: () => focus("moment"),
	",": () => step(-1),
	".": () => step(1),
	w: () => moment.set(null),
	d: turn,
	"?": help,
};
document.addEventListener("keydown", event => {
	const isTyping = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName) && event.target.type !== "range";
	if (event.key === "Escape" && isTyping) event.target.blur();
	if (list.open && event.key !== "?") return;
	if (isTyping || event.ctrlKey || event.altKey || event.metaKey || !Object.hasOwn(keys, event.key)) return;
	event.preventDefault();
	keys[event.key]();
});

if (state.has("t") && data.frames) moment.set(moment.at(Number(state.get("t"))));
document.documentElement.dataset.ready = Math.round(performance.now());
})();
