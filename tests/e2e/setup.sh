#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# ./setup says how far a long build is, and nothing of one that has nothing to do; and that one has failed.
# Its compiler and packages are such as this test makes.
. "$(dirname "$0")/lib.sh"
[ -e "$root/setup" ] || {
	echo "SKIP: no setup here"
	exit 77
}

mkdir bin tree tree/build
cp "$root/setup" tree
cat >bin/dpkg-query <<'END'
#!/bin/sh
echo "install ok installed"
END
cat >bin/ninja <<'END'
#!/bin/sh
[ -z "$STEPS" ] || for i in $(seq "$STEPS"); do
	echo "[$i/$STEPS] cc -c $i.c"
	sleep 0.6
done
[ -z "$FAILS" ] || { echo "3.c:1: error: no such word"; exit 1; }
[ -n "$STEPS" ] || echo "ninja: no work to do."
END
chmod +x bin/*
touch tree/build/build.ninja tree/build/verbena
PATH=$work/bin:$PATH
export PATH STEPS FAILS EVERY
EVERY=1 STEPS=5 FAILS=''
tree/setup build 2>err || fail "a build that ends well"
[ "$(grep -c '^setup: building \[[1-5]/5\]$' err)" -ge 2 ] || fail "not a line a second"
[ "$(wc -l <tree/build/build.log)" = 5 ] || fail "not all is in the log"
STEPS=''
tree/setup build 2>err || fail "a build without work"
[ ! -s err ] || fail "something is said of nothing"
STEPS=1 FAILS=1
status=0
tree/setup build 2>err || status=$?
[ "$status" = 3 ] && grep -q '^3.c:1: error: no such word$' err || fail "a build that fails"
STEPS=4 FAILS=''
python3 -c 'import pty, sys; sys.exit(pty.spawn(["tree/setup", "build"]) >> 8)' >seen </dev/null || fail "a build on a terminal"
grep -q "$(printf '\r')setup: building \[4/4\] " seen && [ "$(grep -c . seen)" -le 1 ] || fail "not a line that is written over"

# A tree that was moved is set up anew, with a line; one that was not, or is reached by a link, is not.
cat >bin/meson <<'END'
#!/bin/sh
echo "$*" >>meson.log
END
chmod +x bin/meson
mkdir tree/build/meson-info
STEPS='' FAILS=''
place() { # PATH FOLDER: where the tree was set up, and how it is reached
	printf '{"directories": {"source": "%s", "build": "%s/build"}}' "$1" "$1" >tree/build/meson-info/meson-info.json
	rm -f tree/meson.log
	"$2"/setup build 2>err || fail "a tree of $1"
}
ln -s tree link
place "$(pwd -P)/tree" tree
[ ! -s err ] && [ ! -e tree/meson.log ] || fail "set up again, though nothing was moved"
place "$(pwd -P)/tree" link
[ ! -s err ] && [ ! -e tree/meson.log ] || fail "set up again, though it is a link"
place /where/it/was tree
[ "$(cat err)" = 'setup: build/ was set up in /where/it/was; it is set up anew' ] || fail "a tree that was moved: another line"
[ "$(cat tree/meson.log)" = 'setup --wipe build' ] || fail "not set up anew"

# Words that are none, paths from where one is, and a tree that is somebody else's.
status=0
tree/setup nosuch 2>err || status=$?
[ "$status" = 2 ] && [ "$(head -n 1 err)" = 'setup: found "nosuch", expected one of its commands' ] || fail "a word that is none"
# shellcheck disable=SC2016 # for the command that is written
printf '#!/bin/sh\necho "$PWD $*"\n' >tree/build/verbena
chmod +x tree/build/verbena
place "$(pwd -P)/tree" tree
mkdir here
[ "$(cd here && ../tree/setup run mine.yaml --quiet)" = "$(pwd)/here run mine.yaml --quiet" ] || fail "paths from elsewhere"
[ "$(cd here && ../tree/setup run)" = "$(pwd)/tree run traces/default.yaml" ] || fail "the default scenario from elsewhere"
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	chmod 755 . tree tree/build
	status=0
	setpriv --reuid=65534 --regid=65534 --clear-groups tree/setup build 2>err || status=$?
	[ "$status" = 3 ] && grep -q "^setup: .* may not write into $(pwd -P)/tree/build, which is root's$" err || fail "somebody else's tree"
	[ "$(wc -l <err)" = 1 ] || fail "somebody else's tree: more than a line"
fi
