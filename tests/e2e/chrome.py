# SPDX-License-Identifier: BSD-2-Clause
"""A page in a browser as a person has it in front of them: a window of any size, keys and clicks that are
real ones. Chromium is spoken to through a pipe, so that neither a port nor a package is needed.

    page = chrome.Page(browser, folder)
    page.open("file:///...", 390, 844)
    page.click("#ladder .arrow"); page.key("Enter"); page.value("document.title")"""
import atexit
import base64
import json
import os
import select
import subprocess
import sys
import time

PATIENCE = 60  # seconds for an answer


class Page:
    def __init__(self, browser, folder):
        to_browser, from_browser = os.pipe(), os.pipe()
        self.send_to, self.read_from = to_browser[1], from_browser[0]

        def ends():  # what Chromium reads is its descriptor 3, what it writes its 4
            a, b = os.dup2(to_browser[0], 13), os.dup2(from_browser[1], 14)
            os.dup2(a, 3)
            os.dup2(b, 4)

        self.process = subprocess.Popen(
            [browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--remote-debugging-pipe",
             "--user-data-dir=" + os.path.join(folder, "profile-of-pipe"), "about:blank"],
            close_fds=False, preexec_fn=ends, env=dict(os.environ, HOME=folder), stderr=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL)
        atexit.register(self.close)
        os.close(to_browser[0])
        os.close(from_browser[1])
        self.number, self.rest, self.session, self.errors = 0, b"", None, []
        target = next(t for t in self.call("Target.getTargets")["targetInfos"] if t["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        self.call("Page.enable")
        self.call("Runtime.enable")

    def message(self):
        while b"\0" not in self.rest:
            if not select.select([self.read_from], [], [], PATIENCE)[0]:
                sys.exit("the browser does not answer")
            more = os.read(self.read_from, 1 << 20)
            if not more:
                sys.exit("the browser is gone")
            self.rest += more
        text, self.rest = self.rest.split(b"\0", 1)
        found = json.loads(text)
        if found.get("method") == "Runtime.exceptionThrown":
            self.errors.append(found["params"]["exceptionDetails"])
        return found

    def call(self, method, **parameters):
        self.number += 1
        asked = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            asked["sessionId"] = self.session
        text = json.dumps(asked).encode() + b"\0"
        while text:
            text = text[os.write(self.send_to, text):]
        while True:
            found = self.message()
            if found.get("id") == self.number:
                if "error" in found:
                    sys.exit("%s: %s" % (method, found["error"]))
                return found["result"]

    def open(self, address, width, height, dark=False):
        """Until its scripts have run."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                  mobile=width < 600)
        self.call("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.call("Page.navigate", url="about:blank")
        self.call("Page.navigate", url=address)
        until = time.monotonic() + PATIENCE
        while not self.value("location.href !== 'about:blank' && document.documentElement && "
                             "'ready' in document.documentElement.dataset && document.readyState === 'complete'"):
            if self.errors or time.monotonic() > until:
                sys.exit("%s: a script has failed: %s" % (address, self.errors))
            time.sleep(0.02)
        self.settle()
        if self.errors:
            sys.exit("%s: %s" % (address, self.errors))

    def settle(self):
        """Until what was changed is drawn."""
        self.value("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")

    def value(self, expression):
        found = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in found:
            sys.exit("%s: %s" % (expression, found["exceptionDetails"].get("exception", {}).get("description")))
        return found["result"].get("value")

    def key(self, key, text=None):
        codes = {"Enter": 13, "Escape": 27, "Tab": 9, "ArrowDown": 40, "ArrowUp": 38}
        text = text or {"Enter": "\r"}.get(key) or (key if len(key) == 1 else None)
        down = {"type": "keyDown", "key": key, "windowsVirtualKeyCode": codes.get(key, 0)}
        if text:
            down["text"] = text
        self.call("Input.dispatchKeyEvent", **down)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, windowsVirtualKeyCode=codes.get(key, 0))

    def type(self, text):
        for letter in text:
            self.key(letter)

    def mouse(self, kind, x, y, **more):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def click(self, selector):
        """In the middle of what is found first, after it was scrolled into sight; until that is drawn."""
        x, y = self.value("(() => { const one = document.querySelector(%s); one.scrollIntoView({block: 'center', "
                          "behavior: 'instant'}); const r = one.getBoundingClientRect(); "
                          "return [r.x + r.width / 2, r.y + r.height / 2]; })()" % json.dumps(selector))
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            self.mouse(kind, x, y, button="left", buttons=int(kind == "mousePressed"), clickCount=1)
        self.settle()

    def shot(self, path, selector=None):
        if selector:
            self.value("document.querySelector(%s).scrollIntoView({block: 'start'})" % json.dumps(selector))
        data = self.call("Page.captureScreenshot", format="png")["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))

    def close(self):
        """The folder is nobody's any more."""
        self.process.terminate()
        self.process.wait(timeout=PATIENCE)
