#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# docs/ci.md: the files that it shows are made, and the script lines of its jobs run as the services run
# them, with the verbena of this build in place of the lines that build one.
. "$(dirname "$0")/lib.sh"

mkdir bin
ln -s "$verbena" bin/verbena
PATH="$work/bin:$PATH"
export PATH
cat >jobs.py <<'END'
"""jobs.py DOCUMENT FOLDER: writes the files that begin with their name into FOLDER/repository, and the
scripts of the jobs as FOLDER/github-N.sh and FOLDER/gitlab.sh, without what builds verbena; what they
keep as FOLDER/github.kept and FOLDER/gitlab.kept; blocks for a shell as FOLDER/shell-N.sh."""
import os, re, sys

text, folder = open(sys.argv[1]).read(), sys.argv[2]
blocks = re.findall(r"^```(\w*)\n(.*?)^```$", text, re.S | re.M)


def put(name, content):
    path = os.path.join(folder, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(content)


def indent(line):
    return len(line) - len(line.lstrip())


def below(lines, at, deeper):
    """The lines behind lines[at] that are so much deeper, without their common margin."""
    inside = []
    for line in lines[at + 1:]:
        if line.strip() and indent(line) < deeper:
            break
        inside.append(line)
    margin = min(indent(l) for l in inside if l.strip())
    return [l[margin:] for l in inside]


def github(lines):
    scripts, built = [], 0
    for i, line in enumerate(lines):
        found = re.fullmatch(r"( +)(?:- )?run: (.*)", line)
        if not found:
            continue
        script = below(lines, i, len(found[1]) + 1) if found[2] == "|" else [found[2]]
        if any("VERBENA_URL" in l for l in script):
            built += 1
            put("build-github.sh", re.sub(r"\$\{\{ vars\.(\w+) \}\}", r"$\1", "\n".join(script) + "\n"))
        else:
            scripts.append("\n".join(script) + "\n")
    kept = [l for i, line in enumerate(lines) if line.strip() == "path: |" for l in below(lines, i, indent(line) + 1)]
    return scripts, built, kept


def items(lines, key):
    return [re.fullmatch(r"- (.*)", l)[1] for i, line in enumerate(lines) if line.strip() == key
            for l in below(lines, i, indent(line) + 1)]


shells = 0
for kind, content in blocks:
    if kind == "text": # for the reader, who is told what of it was not run
        continue
    lines = content.splitlines()
    name = re.fullmatch(r"# (\S+/\S+|\.gitlab-ci\.yml)", lines[0])
    if kind == "sh":
        put(f"shell-{shells}.sh", content)
        shells += 1
        continue
    assert name, f"a block without a name: {lines[0]}"
    put("repository/" + name[1], content)
    if name[1].startswith(".github/"):
        scripts, built, kept = github(lines)
        assert built == 1 and len(scripts) == 2, (built, scripts)
        for i, script in enumerate(scripts):
            put(f"github-{i}.sh", script)
        put("github.kept", "\n".join(kept) + "\n")
    elif name[1] == ".gitlab-ci.yml":
        assert sum("VERBENA_URL" in l for l in items(lines, "before_script:")) == 1
        put("build-gitlab.sh", "\n".join(l.replace("/opt/verbena", "$RUNNER_TEMP/verbena")
                                         for l in items(lines, "before_script:") if "apt-get" not in l) + "\n")
        put("gitlab.sh", "\n".join(items(lines, "script:")) + "\n")
        put("gitlab.kept", "\n".join(items(lines, "paths:") + items(lines, "junit:")) + "\n")
put("seed.sh", re.search(r"`(verbena run [^`]* --seed [^`]*)`", text)[1] + "\n")
try:
    import yaml
except ImportError:
    pass
else:
    for kind, content in blocks:
        if kind == "yaml":
            yaml.safe_load(content)
END
python3 jobs.py "$root/docs/ci.md" . || fail "the document has another form"
[ -e github-1.sh ] && [ -e gitlab.sh ] && [ -e shell-1.sh ] || fail "the document has no jobs"
cd repository
"$verbena" check fabric/gate.yaml >"$work/out" 2>"$work/err" || {
	grep -q 'expected none: this verbena was built without libjq' "$work/err" || fail "check: another reason"
	echo "SKIP: built without libjq"
	exit 77
}
sh -e ../shell-0.sh || fail "the baseline cannot be made"
cd ..

# job SERVICE WANT FOLDER: its scripts in a copy of the repository, as it runs them; sets no status but 0 or 1
job() {
	rm -rf checkout
	cp -r "$3" checkout
	cd checkout
	"$verbena" check fabric/*.yaml >"$work/out" 2>"$work/err" || fail "check: exit $?"
	grep -qx 'fabric/seeds.yaml: ok: 20 runs of fabric/gate.yaml: 1 combination of settings, 20 seeds, 3 expectations' "$work/out" ||
		fail "check: another line of the plan"
	GITHUB_STEP_SUMMARY=$work/summary
	export GITHUB_STEP_SUMMARY
	: >"$work/summary"
	red=0
	for script in ../"$1"*.sh; do
		status=0
		bash -e "$script" >>"$work/out" 2>>"$work/err" || status=$?
		[ $status -le 1 ] || fail "$1: $script: exit $status"
		[ $status = 0 ] || red=1
	done
	while read -r kept; do
		[ -e "$kept" ] || fail "$1: $kept is kept, and there is none"
	done <"../$1.kept"
	[ $red = "$2" ] || fail "$1: the job ends with $red, not $2"
	cd ..
}
for service in github gitlab; do
	job $service 0 repository
	grep -q 'tests="3" failures="0" errors="0"' checkout/gate.xml || fail "$service: another gate.xml"
	grep -q 'tests="3" failures="0" errors="0"' checkout/seeds.xml || fail "$service: another seeds.xml"
	[ $service = gitlab ] || grep -q '^| .fct.incast.p99_ps |' summary || fail "no table in the summary"
done

# What is no scenario any more is status 2, and not 1, which would be said of the fabric.
for service in github gitlab; do
	rm -rf checkout
	cp -r repository checkout
	sed -i 's/kmin/kmni/' checkout/fabric/gate.yaml
	cd checkout
	for script in ../"$service"*.sh; do
		status=0
		bash -e "$script" >"$work/out" 2>"$work/err" || status=$?
		[ $status = 2 ] || fail "$service: $script: exit $status of a bad scenario"
	done
	cd ..
done

# They build the version that they name, whatever came after it.
if command -v git >/dev/null; then
	mkdir url
	commit() { # WORD: a commit of a setup that says it
		# shellcheck disable=SC2016 # for the setup that is written
		printf '#!/bin/sh\necho "%s $*" >"$RUNNER_TEMP/built"\n' "$1" >url/setup
		chmod +x url/setup
		git -C url add setup
		git -C url -c user.name=n -c user.email=n@localhost commit -qm "$1"
	}
	git init -q url
	commit wanted
	VERBENA_VERSION=$(git -C url rev-parse HEAD)
	commit newer
	for service in github gitlab; do
		mkdir "temp-$service"
		VERBENA_URL="$work/url" VERBENA_VERSION=$VERBENA_VERSION RUNNER_TEMP="$work/temp-$service" GITHUB_PATH="$work/path" \
			bash -e "build-$service.sh" >out 2>err || fail "$service: it cannot be built"
		[ "$(cat "temp-$service/built")" = 'wanted build' ] || fail "$service: another version"
	done
fi

# A change that makes it worse is red, in both files, with the words of the document.
cp -r repository worse
sed -i 's/size: 200KB/size: 300KB/' worse/fabric/gate.yaml
for service in github gitlab; do
	job $service 1 worse
	grep -q 'failures="1"' checkout/gate.xml || fail "$service: no failure in gate.xml"
	grep -q 'message="held in [0-9]* of 20 seeds, expected 16; seed ' checkout/seeds.xml || fail "$service: no failure in seeds.xml"
done

# A seed that is red, again: what was kept of the job stays.
cp -r checkout again
cp again/verbena-out/gate/result.json kept.json
cd again
status=0
bash -e ../seed.sh >"$work/out" 2>"$work/err" || status=$?
[ $status -le 1 ] || fail "a seed again: exit $status"
cmp -s verbena-out/gate/result.json ../kept.json || fail "a seed again: the run that was kept is gone"
grep -q ",$(digest_of "$work/out")$" verbena-out/seeds/sweep.csv || fail "a seed again: another digest"
cd ..

# What it says to do with the artefact, where there is nothing else.
mkdir elsewhere
mv checkout/verbena-out elsewhere
rm -rf checkout repository worse again
cd elsewhere
bash -e ../shell-1.sh >"$work/out" 2>"$work/err" || fail "the artefact does not answer"
[ ! -s "$work/err" ] || fail "something beside the answers"
grep -q '^report: verbena-out/gate/report.html$' "$work/out" || fail "no report"
