#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""documents.py ROOT BUILD [--list]: runs every command line of README.md, docs/*.md and docs/verbena.1, in
their order, in an empty folder for each document with what it takes to be there, and compares what comes
out with what is shown. --list only says which lines these are.

A command line is a line of a block: behind "$ " where the block shows output, too, else each line of it,
unless it is a block of "text"; in YAML a "run:" of a job; and what a text has as code, if it begins as one. There
RUN, A or FILE stand for something: no command line, but verbena has to know its second word, and so it
must where there is no more than that word. Output is shown whole, but for "..." and the seconds a run took.
Blocks of YAML are read: a scenario, a plan, a list of expectations."""
import glob
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

# What is not run here, and why.
NOT_RUN = [
    (r"\./setup (build|readme)", "installs packages and builds this tree"),
    (r"\./setup run", "installs packages and builds this tree; what it shows is made by tests/readme.py"),
    (r"\./setup test( .*)?", "runs this test; what it shows is made by tests/readme.py"),
    (r"\./setup bench( fidelity| verbs)?", "measures for long, and writes docs/fidelity.md"),
    (r"VERBENA_ADDR=.*", "tests/e2e/readme.sh runs the two at once, at addresses that nobody else has"),
    (r"(build/)?verbena exec --host [ab] -- ibv_rc_pingpong .*", "tests/e2e/exec_tools.sh runs the two at once"),
    (r"(build/)?verbena (exec .*--record|check|replay) .*\.vbt.*", "tests/e2e/exec_record.sh makes recordings"),
    (r"cc kv\.c .*", "tests/e2e/outside.sh does it with an installation"),
    (r"man -l .*", "man is not everywhere; tests/tidy/man.sh has the page judged"),
]
COMMAND = re.compile(r"(build/)?verbena(?= |$)|\./setup\b|\. <\(|man -|PATH=|VERBENA_\w+=")
FORM = re.compile(r"(^|[ =|\[])[A-Z]+\b(?!=)")
# Without which a document has another form than is understood here.
LEAST = {"README.md": 18, "docs/first-incident.md": 12, "docs/ci.md": 8, "docs/gpudirect.md": 4, "docs/memory_ages.md": 1, "docs/verbena.1": 20}


def fail(*words):
    print(*words)
    sys.exit(1)


class Line:
    """A command line, in a block or in the text, with the lines that are shown of what it says."""

    def __init__(self, text, is_block):
        self.text = re.sub(r" +# .*", "", text)
        self.is_block = is_block
        self.shown = None


class Yaml:
    def __init__(self, text):
        self.text = text


def block(language, lines):
    """The parts of a block."""
    if language == "yaml" or re.match(r"(version|scenario|expect|[\w-]+):|# \S+/", lines[0]):
        jobs = [re.fullmatch(r" *(?:- )?run: (verbena .*)", line) for line in lines]
        return [Yaml("\n".join(lines) + "\n")] + [Line(job[1], True) for job in jobs if job]
    if not any(line.startswith("$ ") for line in lines):
        return [Line(line, True) for line in lines if language != "text"]
    parts = []
    for line in lines:
        if line.startswith("$ "):
            parts.append(Line(line[2:], True))
            parts[-1].shown = []
        else:
            parts[-1].shown.append(line)
    return parts


def of_markdown(text):
    parts = []
    # Text and blocks in turn.
    for i, piece in enumerate(re.split(r"^```(.*\n(?:.*\n)*?)```$", text, flags=re.M)):
        if i % 2:
            language, *lines = piece.splitlines()
            parts += block(language, lines)
        else:
            codes = [" ".join(code.split()) for code in re.findall(r"`([^`]+)`", piece)]
            parts += [Line(code, False) for code in codes if COMMAND.match(code)]
    return parts


def of_roff(text):
    """What is bold is literal; a block is what .nf and .fi enclose."""
    parts, lines = [], None

    def plain(word):
        return re.sub(r"\\f.|\\:", "", word).replace("\\-", "-").replace("\\e", "\\")

    for line in text.splitlines():
        found = re.match(r"\.(B|BR|BI|RB|IB) +(.*)", line)
        if line == ".nf":
            lines = []
        elif line == ".fi":
            parts += block("yaml" if lines[0].endswith(":") else "", lines)
            lines = None
        elif lines is not None:
            lines.append(plain(line))
        elif found:
            words = [plain(a or b) for a, b in re.findall(r'"([^"]*)"|(\S+)', found[2])]
            bold = [" ".join(words)] if found[1] == "B" else words[found[1][0] != "B"::2]
            parts += [Line(word, False) for word in bold if COMMAND.match(word) or re.match("--set .*=.", word)]
    return parts


class Folder:
    """Where the lines of one document run."""

    def __init__(self, root, build, path):
        self.path = path
        self.root = root
        self.expect = ""
        for name, to in (("traces", f"{root}/traces"), ("docs", f"{root}/docs"), ("build", build)):
            os.symlink(to, f"{path}/{name}")
        self.env = dict(os.environ, PATH=f"{build}:{os.environ['PATH']}")
        shutil.copy(f"{root}/traces/default.flows", f"{path}/flows.txt")
        shutil.copy(f"{root}/traces/incast.yaml", f"{path}/incast.yaml")
        shutil.copy(f"{root}/tests/outside/kv.c", f"{path}/kv.c")

    def shell(self, text):
        return subprocess.run(["bash", "-euo", "pipefail", "-c", text], cwd=self.path, env=self.env,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True)

    def must(self, text, want=(0,)):
        done = self.shell(text)
        if done.returncode not in want:
            fail(f'"{text}": exit {done.returncode}, expected {want[0]}\n{done.stdout[-2000:]}{done.stderr}')
        return done.stdout

    def put(self, name, text):
        os.makedirs(os.path.dirname(f"{self.path}/{name}"), exist_ok=True)
        with open(f"{self.path}/{name}", "w", encoding="utf-8") as file:
            file.write(text)

    def without_expectations(self, name):
        """A scenario of traces/, up to what it expects, which is last."""
        with open(f"{self.root}/traces/{name}", encoding="utf-8") as file:
            return re.sub(r"^expect:\n(  .*\n)*", "", file.read(), flags=re.M)

    def read(self, text):
        """A block of YAML: a file that it names, or what its first key says that it is."""
        named = re.match(r"# (\S+)\n", text)
        if named:
            self.put(named[1], text)
        elif text.startswith("version:"):
            self.put("scenario.yaml", text)
            self.must("verbena check scenario.yaml")
        elif text.startswith("scenario:"):
            self.put("plan.yaml", text)
            self.must("verbena sweep plan.yaml --quiet")
        elif text.startswith("expect:"):
            # The scenario of its own that a reader has by then: the last one to be named.
            self.put("my_fabric.yaml", self.without_expectations(
                "incidents/victim-cure.yaml" if ".fct.victim." in text else "incast.yaml") + text)
            if "$baseline" in text:
                self.must("verbena run incast.yaml --quiet")
                self.must("verbena run my_fabric.yaml --out mine --baseline verbena-out/incast --quiet")
            self.must("verbena check my_fabric.yaml")
        elif text.startswith("faults:"):
            self.put("faults.yaml", text)
            self.must("verbena exec --faults faults.yaml -- true")
        else:
            fail("a block of YAML that is nothing known:\n" + text)

    def mention(self, text):
        """A command in the text."""
        words = re.sub(r"^build/", "", text).split()
        if text.startswith("--set "):
            self.must("verbena check traces/incast.yaml " + text)
        elif FORM.search(text) or (len(words) == 2 and self.shell(text).returncode == 2):
            self.must(f"verbena help {words[1]}")
        elif len(words) > 1 or not words[0].endswith("verbena"):
            self.must(text, (0, 1))  # a seed may be named because it fails

    def run(self, line):
        text = line.text
        if not line.is_block:
            self.mention(text)
            return
        asked = re.fullmatch(r"(.*) \| jq (\S+)", text)
        if asked and not shutil.which("jq"):
            text = asked[1]
        text = re.sub(r" \|\| echo .*", "", text)  # it must not come to that
        broken = line.shown and any(shown.startswith("FAILED ") for shown in line.shown)
        said = self.must(text, (1 if broken else 0,))
        if asked and said.strip() in ("", "null"):
            fail(f'"{text}": nothing there')
        if line.shown and not is_shown(line.shown, said.splitlines()):
            fail(f'"{line.text}" says something else than is shown:\n{said}')


def is_shown(shown, said):
    """Whether that is all of it, "..." being any number of lines."""
    def pattern(line):
        return "(.*\n)*" if line == "..." else re.escape(no_time(line)) + "\n"

    def no_time(line):
        return re.sub(r" in [0-9.]+ s$", "", line)

    return re.fullmatch("".join(map(pattern, shown)), "".join(no_time(line) + "\n" for line in said))


def main():
    root, build = map(os.path.abspath, sys.argv[1:3])
    used = set()
    documents = ["README.md"] + sorted(os.path.relpath(p, root) for p in glob.glob(f"{root}/docs/*.md"))
    for document in documents + ["docs/verbena.1"]:
        with open(f"{root}/{document}", encoding="utf-8") as file:
            parts = (of_markdown if document.endswith(".md") else of_roff)(file.read())
        count = 0
        with tempfile.TemporaryDirectory() as path:
            folder = Folder(root, build, path)
            for part in parts:
                if isinstance(part, Yaml):
                    if "--list" not in sys.argv:
                        folder.read(part.text)
                    continue
                why = [reason for line, reason in NOT_RUN if re.fullmatch(line, part.text)]
                used.update(why)
                print(f"{document}: {part.text}" + (f" (not run: {why[0]})" if why else ""), flush=True)
                count += 1
                if not why and "--list" not in sys.argv:
                    folder.run(part)
        if count < LEAST.get(document, 0):
            fail(f"{document}: {count} command lines, expected {LEAST[document]} and more")
    for _, reason in NOT_RUN:
        if reason not in used:
            fail(f"nothing is left out any more because of this: {reason}")


main()
