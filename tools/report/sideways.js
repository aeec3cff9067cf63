// SPDX-License-Identifier: BSD-2-Clause
// Boxes that hold more than they show say so: a line above one that scrolls sideways, and an edge that fades where
// there is more.
(function () {
for (const box of document.querySelectorAll(".scroll, .drawing, #pause-tree")) {
	const hint = element("p", {class: "hint sideways", hidden: ""}, "More to the right: scroll or swipe →");
	const look = () => {
		box.classList.toggle("more-right", box.scrollLeft + box.clientWidth < box.scrollWidth - 1);
		box.classList.toggle("more-below", box.scrollTop + box.clientHeight < box.scrollHeight - 1);
		hint.hidden = box.scrollWidth <= box.clientWidth + 1 || getComputedStyle(box).overflowX === "hidden";
	};
	box.before(hint);
	box.addEventListener("scroll", look, {passive: true});
	const watch = new ResizeObserver(look);
	watch.observe(box);
	for (const inner of box.children) watch.observe(inner);
	new MutationObserver(look).observe(box, {childList: true, subtree: true});
	look();
}
})();
