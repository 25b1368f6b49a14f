"""How a report looks: one sheet for light, dark, narrow and paper."""

STYLE = """
:root {
  color-scheme: light dark;
  --ground: #ffffff; --raised: #f4f6f8; --ink: #1b1f24; --soft: #57606a; --line: #d0d7de;
  --blue: #0072b2; --orange: #b84a00; --green: #00795a; --grey: #7d8590;
  --shade: 0 114 178; --warn: #fff4e0; --warn-line: #e69f00;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #14181d; --raised: #1d232a; --ink: #e6e9ed; --soft: #a3adb8; --line: #38414b;
    --blue: #56b4e9; --orange: #f0883e; --green: #2fc39a; --grey: #8b949e;
    --shade: 86 180 233; --warn: #33270f; --warn-line: #b37b00;
  }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body {
  margin: 0; background: var(--ground); color: var(--ink);
  font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
}
.page { max-width: 56rem; margin: 0 auto; padding: 2rem 1.25rem 3rem; }
header { border-bottom: 1px solid var(--line); padding-bottom: 1rem; }
h1 { font-size: 1.75rem; line-height: 1.25; margin: 0 0 .35rem; overflow-wrap: anywhere; }
h2 { font-size: 1.3rem; line-height: 1.3; margin: 2.75rem 0 .5rem; }
h3 { font-size: 1.02rem; margin: 1.6rem 0 .35rem; }
p { margin: .5rem 0; max-width: 44rem; overflow-wrap: anywhere; }
.soft, figcaption, caption { color: var(--soft); }
.small { font-size: .875rem; }
nav ul { list-style: none; margin: .9rem 0 0; padding: 0; display: flex; flex-wrap: wrap;
  gap: .25rem 1.1rem; }
a { color: var(--blue); text-underline-offset: .15em; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(11rem, 1fr)); gap: .75rem;
  margin: 1.1rem 0; padding: 0; }
.tile { background: var(--raised); border: 1px solid var(--line); border-radius: .5rem;
  padding: .75rem .9rem; display: flex; flex-direction: column; }
.tile dt { color: var(--soft); font-size: .875rem; line-height: 1.3; }
.tile dd { margin: 0; }
.tile .value { font-size: 1.6rem; font-weight: 650; line-height: 1.3; }
.note { background: var(--warn); border-left: 4px solid var(--warn-line); border-radius: .25rem;
  padding: .6rem .9rem; margin: 1rem 0; max-width: 44rem; }
.note p { margin: 0; }
.scroll { overflow-x: auto; margin: .75rem 0; }
table { border-collapse: collapse; font-size: .925rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; padding: 0 0 .4rem; font-size: .875rem; }
th, td { padding: .35rem .7rem; text-align: right; border-bottom: 1px solid var(--line);
  vertical-align: top; }
thead th { border-bottom: 2px solid var(--line); font-weight: 600; vertical-align: bottom; }
th[scope=row] { text-align: left; font-weight: 500; overflow-wrap: anywhere; min-width: 7rem; }
td.text, th.text { text-align: left; }
td.text { overflow-wrap: anywhere; min-width: 9rem; }
thead th:first-child { text-align: left; }
td .part { display: block; color: var(--soft); font-size: .8rem; }
.cells td { text-align: center; min-width: 5.5rem; border: 1px solid var(--line); }
.cells thead th:not(:first-child) { text-align: center; max-width: 10rem; overflow-wrap: anywhere; }
.cells td.asked { border-style: dashed; }
.bars td.bar { width: 40%; min-width: 7rem; padding-right: 0; text-align: left; }
.bars { width: 100%; }
.track { display: flex; height: 1.1rem; margin-top: .15rem; }
.track i { display: block; height: 100%; border-radius: 2px; background: var(--blue); }
.track i.gap { background: none; }
.track i.less { background: var(--orange); }
.track i.other { background: var(--grey); }
figure { margin: 1rem 0; }
figure svg { display: block; width: 100%; max-width: 38rem; height: auto; color: var(--ink); }
figure svg * { stroke-linejoin: round; stroke-linecap: butt; }
.bars th[scope=row] { min-width: 6rem; }
figure svg text { font-family: inherit !important; }
figcaption { font-size: .875rem; max-width: 44rem; margin-top: .25rem; }
details { margin: .6rem 0; }
summary { cursor: pointer; color: var(--blue); }
footer { margin-top: 3rem; border-top: 1px solid var(--line); padding-top: .9rem; }
@media (max-width: 34rem) {
  .page { padding: 1.25rem .9rem 2rem; }
  h1 { font-size: 1.4rem; }
  h2 { font-size: 1.15rem; margin-top: 2.1rem; }
  th, td { padding: .3rem .45rem; }
  .cells td { min-width: 3.6rem; }
  .bars td.bar { min-width: 4.5rem; }
  .tiles { grid-template-columns: repeat(auto-fit, minmax(8.5rem, 1fr)); }
  .tile .value { font-size: 1.3rem; }
}
@media print {
  :root {
    --ground: #ffffff; --raised: #ffffff; --ink: #000000; --soft: #444444; --line: #bbbbbb;
    --blue: #0072b2; --orange: #b84a00; --green: #00795a; --grey: #777777;
    --shade: 0 114 178; --warn: #ffffff;
  }
  body { font-size: 10pt; }
  .page { max-width: none; padding: 0; }
  nav { display: none; }
  h2, h3 { break-after: avoid; }
  figure, tr, .tile, .note { break-inside: avoid; }
  .scroll { overflow: visible; }
  * { -webkit-print-color-adjust: exact; print-color-adjust: exact; }
}
""".strip()
