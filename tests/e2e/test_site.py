"""The site as readers see it, wide and narrow, light and dark, with the network denied.

It needs the ``docs`` extra (``pip install -e '.[docs]'``) and Chromium (Debian's package is
``chromium``): they are tools of the documentation, not of the library.
"""

import fcntl
import functools
import http.server
import subprocess
import sys
import threading
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlparse

import pytest
from tests.e2e.browser import CHROMIUM, Browser

ROOT = Path(__file__).parents[2]
SITE = ROOT / "build" / "docs"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not (CHROMIUM and find_spec("sphinx_gallery")), reason="needs Chromium and the docs extra"
    ),
]
DESK, PHONE = 1280, 390

#: Everything that a page refers to, and the names it can be referred to by.
LINKS = """({
  links: [...document.querySelectorAll("a[href]")].map(a => a.href),
  names: [...document.querySelectorAll("[id]")].map(each => each.id),
})"""

#: Formulas that were not set, TeX in the text, pictures that are not there.
WHOLE = r"""(() => {
  const found = [];
  for (const each of document.querySelectorAll(".math")) {
    if (!each.querySelector("mjx-container")) found.push("formula: " + each.textContent.trim());
  }
  for (const each of document.querySelectorAll("mjx-merror")) {
    found.push("formula: " + each.getAttribute("data-mjx-error"));
  }
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const text = texts.currentNode;
    if (text.parentElement.closest("pre, code, script, style, mjx-container, textarea")) continue;
    const raw = text.data.match(/\\[([]|\$\$|\\(frac|sum|log|mathbf|operatorname|text)\b/);
    if (raw) found.push("TeX: " + text.data.trim().slice(0, 80));
  }
  for (const image of document.images) {
    if (!image.naturalWidth) found.push("picture: " + image.src);
  }
  return found;
})()"""

#: Wider than the window.
WIDE = """(() => {
  const room = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth <= room) return [];
  return [...document.querySelectorAll("article *")]
    .filter(each => each.getBoundingClientRect().right > room + 1)
    .slice(0, 3).map(each => "too wide: " + each.outerHTML.slice(0, 120))
    .concat("too wide: " + document.documentElement.scrollWidth);
})()"""

#: Text whose contrast to what is behind it is less than 4.5 (WCAG 2.2, 1.4.3).
PALE = r"""(() => {
  const numbers = text => {
    const found = text.match(/[\d.]+(e-\d+)?/g).map(Number);
    const scale = text.startsWith("color(") ? 255 : 1;
    return [...found.slice(0, 3).map(each => each * scale), found[3] ?? 1];
  };
  const over = ([r, g, b, a], below) => [r, g, b].map((each, i) => a * each + (1 - a) * below[i]);
  const light = rgb => rgb.map(each => each / 255)
    .map(each => each <= 0.04045 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4)
    .reduce((sum, each, i) => sum + each * [0.2126, 0.7152, 0.0722][i], 0);
  const grounds = new Map();
  const ground = each => {
    if (!each) return [255, 255, 255];
    if (!grounds.has(each)) {
      const own = numbers(getComputedStyle(each).backgroundColor);
      grounds.set(each, own[3] === 1 ? own.slice(0, 3) : over(own, ground(each.parentElement)));
    }
    return grounds.get(each);
  };
  const found = new Map(), seen = new Set();
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const each = texts.currentNode.parentElement;
    if (seen.has(each) || !texts.currentNode.data.trim()) continue;
    seen.add(each);
    if (each.closest("script, style, noscript, template, svg, [aria-hidden=true]")) continue;
    if (!each.checkVisibility({opacityProperty: true, visibilityProperty: true})) continue;
    const below = ground(each);
    const [one, two] = [light(over(numbers(getComputedStyle(each).color), below)), light(below)];
    const ratio = (Math.max(one, two) + 0.05) / (Math.min(one, two) + 0.05);
    const kind = `pale, ${ratio.toFixed(2)}: ${each.tagName} .${each.className}`;
    if (ratio < 4.5) found.set(kind, texts.currentNode.data.trim().slice(0, 40));
  }
  return [...found].map(([kind, text]) => `${kind} "${text}"`);
})()"""


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        """Say nothing."""


@pytest.fixture(scope="module")
def site():
    """Build the site, or what changed of it, without a warning; serve it; give its address."""
    SITE.mkdir(parents=True, exist_ok=True)
    with (SITE.parent / "docs.lock").open("w") as lock:  # one build at a time
        fcntl.flock(lock, fcntl.LOCK_EX)
        command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html"]
        built = subprocess.run(
            [*command, "docs", str(SITE)], cwd=ROOT, capture_output=True, text=True, check=False
        )
    assert built.returncode == 0, built.stderr
    handler = functools.partial(_Quiet, directory=SITE)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture
def browser(tmp_path):
    tab = Browser(tmp_path / "profile")
    yield tab
    tab.close()


def _pages():
    return sorted(path.relative_to(SITE).as_posix() for path in SITE.rglob("*.html"))


def _complaints(event, site):
    """What an event tells that should not happen: an error, a stranger, a missing file."""
    kind, told = event.get("method"), event.get("params", {})
    if kind == "Runtime.exceptionThrown":
        yield f"exception: {told['exceptionDetails']}"
    if kind == "Runtime.consoleAPICalled" and told["type"] in {"error", "warning"}:
        yield f"console: {told['args']}"
    if kind == "Log.entryAdded" and told["entry"]["level"] == "error":
        yield f"console: {told['entry']['text']} {told['entry'].get('url', '')}"
    if kind == "Network.requestWillBeSent":
        address = told["request"]["url"]
        if not address.startswith((site, "data:", "blob:")):
            yield f"asks another host: {address}"
    if kind == "Network.responseReceived" and told["response"]["status"] >= 400:
        yield f"missing: {told['response']['url']}"


def test_every_page_is_whole_and_legible_at_both_widths_by_day_and_by_night(site, browser):
    wrong, links, names = [], {}, {}
    for page in _pages():
        browser.resize(DESK)
        events = browser.open(f"{site}/{page}")
        found = [each for event in events for each in _complaints(event, site)]
        told = browser.ask(LINKS)
        links[page], names[page] = set(told["links"]), set(told["names"])
        found += browser.ask(WHOLE) + browser.ask(PALE)
        browser.resize(PHONE, dark=True)
        found += browser.ask(WIDE) + browser.ask(PALE)
        wrong += [(page, each) for each in found]
    for page, address in sorted((page, each) for page, all_ in links.items() for each in all_):
        file, name = urldefrag(address)
        if urlparse(address).scheme.startswith("http") and file.startswith(site):
            path = unquote(urlparse(file).path).strip("/") or "index.html"
            if not (SITE / path).is_file() or (name and unquote(name) not in names.get(path, ())):
                wrong.append((page, f"broken link: {address.removeprefix(site)}"))
    assert len(names) > 250
    assert wrong == []


#: Words that people bring along, and the page that is meant for them.
MEANT = {
    "abstain": "how-to/reject_option",
    "cost-sensitive": "tutorials/first_decision",
    "damping": "how-to/loopy",
    "forward-backward": "how-to/exact_inference",
    "HMM": "how-to/exact_inference",
    "influence": "explanation/from_posterior_to_act",
    "LDA": "how-to/choose_a_covariance",
    "momentum": "how-to/loopy",
    "QDA": "how-to/choose_a_covariance",
    "virtual evidence": "how-to/evidence",
    "Viterbi": "how-to/most_probable",
}
#: Search writes its results one by one, and says at the end how many there are.
RESULTS = """new Promise(done => {
  const look = () => {
    const told = document.querySelector("#search-results .search-summary");
    const found = [...document.querySelectorAll("#search-results ul.search li a")];
    if (told && /found|match/i.test(told.textContent) && found.length) {
      done(found.map(each => each.pathname));
    } else setTimeout(look, 50);
  };
  look();
})"""


@pytest.mark.parametrize("word", MEANT)
def test_a_word_from_elsewhere_finds_the_page_meant_for_it(word, site, browser):
    browser.open(f"{site}/search.html?q={word.replace(' ', '+')}")
    assert f"/{MEANT[word]}.html" in browser.ask(RESULTS)[:3]


def test_a_copied_example_has_no_prompts_and_no_output(site, browser):
    browser.open(f"{site}/tutorials/first_decision.html")
    copied = browser.ask("""new Promise(done => {
        document.addEventListener("copy", () => done(getSelection().toString()
          || document.activeElement.value));
        setTimeout(() => done("nothing was copied"), 10000);
        document.querySelector("button.copybtn").click();
    })""")
    assert copied.startswith("import credo\n")
    assert ">>>" not in copied


@pytest.mark.parametrize("door", [0, 1, 2])
def test_the_front_page_has_doors_and_each_leads_on(door, site, browser):
    browser.open(f"{site}/index.html")
    leads = browser.ask(
        f"[...document.querySelectorAll('.door')[{door}].querySelectorAll('a')].map(a => a.href)"
    )
    assert len(leads) >= 3
    assert browser.ask("[...document.querySelectorAll('.door img')].length") == 3


def test_every_example_has_a_page_a_thumbnail_and_a_notebook(site):  # noqa: ARG001
    for path in sorted((ROOT / "examples").glob("*/plot_*.py")):
        page = SITE / "gallery" / path.parent.name / f"{path.stem}.html"
        assert 'href="../../_downloads' in page.read_text(encoding="utf-8")
        assert list(SITE.glob(f"_downloads/*/{path.stem}.ipynb"))
        assert list(SITE.glob(f"_images/sphx_glr_{path.stem}_thumb.*"))
