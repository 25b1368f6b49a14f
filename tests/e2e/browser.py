"""Chromium without a screen, driven through a pipe: pages as a reader sees them."""

import fcntl
import json
import os
import shutil
import subprocess
import sys

#: The browser, or None; Debian's package is ``chromium``.
CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--remote-debugging-pipe",
]
#: Becomes the browser, which reads commands from descriptor 3 and writes answers to 4.
START = (
    "import os, sys; r, w = map(int, sys.argv[1:3]); "
    "os.dup2(r, 3); os.dup2(w, 4); os.execv(sys.argv[3], sys.argv[3:])"
)


def _pipe():
    """Both ends of a pipe, out of the way of the descriptors that the browser uses."""
    return [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in os.pipe()]


class Browser:
    """One tab. ``call`` sends a command of the DevTools protocol; what happens is in ``events``."""

    def __init__(self, profile):
        theirs, ours = _pipe()
        answers, written = _pipe()
        command = [sys.executable, "-c", START, str(theirs), str(written), CHROMIUM, *FLAGS]
        self.process = subprocess.Popen(
            [*command, f"--user-data-dir={profile}"],
            pass_fds=(theirs, written),
            stderr=subprocess.DEVNULL,
        )
        os.close(theirs)
        os.close(written)
        self._out, self._in = os.fdopen(ours, "wb", 0), os.fdopen(answers, "rb")
        self._buffer, self._count, self._session, self.events = b"", 0, None, []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)[
            "sessionId"
        ]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    def close(self):
        self._out.close()
        self.process.kill()
        self.process.wait()
        self._in.close()

    def call(self, method, **parameters):
        self._count += 1
        message = {"id": self._count, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        self._out.write(json.dumps(message).encode() + b"\0")
        while (answer := self._read()).get("id") != self._count:
            self.events.append(answer)
        assert "error" not in answer, (method, answer)
        return answer["result"]

    def _read(self):
        while b"\0" not in self._buffer:
            part = self._in.read1(1 << 20)
            assert part, "the browser has ended"
            self._buffer += part
        message, _, self._buffer = self._buffer.partition(b"\0")
        return json.loads(message)

    def ask(self, script):
        """Run an expression in the page, wait for its promise, and return its value."""
        how = {"awaitPromise": True, "returnByValue": True, "userGesture": True}
        answer = self.call("Runtime.evaluate", expression=script, **how)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def open(self, address):
        """Go to an address and wait until everything is loaded; return what happened meanwhile."""
        self.events.clear()
        self.call("Page.navigate", url=address)
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            self.events.append(self._read())
        self.ask(READY)
        return self.events

    def resize(self, width, *, dark=False):
        """Make the window that wide; a phone's has touch and no scroll bar."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=900,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])


#: Letters, formulas and pictures are there.
READY = """(async () => {
  if (window.MathJax && MathJax.startup) await MathJax.startup.promise;
  await document.fonts.ready;
  for (const image of document.images) {
    image.loading = "eager";
    await image.decode().catch(() => null);
  }
})()"""
