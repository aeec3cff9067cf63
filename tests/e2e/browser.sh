# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=sh
# What the tests of the report in a browser share, behind lib.sh: . browser.sh
# shellcheck disable=SC2154 # lib.sh sets root and work
browser=
for name in chromium chromium-browser google-chrome; do
	[ -n "$browser" ] || browser=$(command -v "$name" || true)
done
[ -n "$browser" ] || {
	echo "no chromium on this machine"
	exit 77
}

# page DIR STATE: the document of DIR/report.html#STATE, once its scripts have run, into dom.html
page() {
	HOME=$work timeout 100 "$browser" --headless --no-sandbox --disable-gpu \
		--user-data-dir="$work/profile" --dump-dom "file://$work/$1/report.html#$2" >dom.html 2>chrome.err ||
		{
			tail -n 5 chrome.err
			fail "$browser failed"
		}
	grep -q 'data-ready="[0-9]' dom.html || fail "$1#$2: a script has failed"
}

# holds_in DIR PART [ARG...]: dom.html agrees with the files in DIR
holds_in() {
	python3 "$root/tests/e2e/report_browser.py" "$@" || fail "$*"
}

# look PART DIR: what that part looks at, in a real window
look() {
	python3 "$root/tests/e2e/report_look.py" "$browser" "$@" || fail "$*"
}
