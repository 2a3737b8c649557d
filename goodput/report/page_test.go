package report_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/goodput/report"
	"github.com/goodputkit/goodputkit/internal/browser"
)

// artefacts is where pages and their screenshots go, a folder that git ignores.
const artefacts = "../../artifacts/report"

// save writes a document's page and gives its address and its size.
func save(t *testing.T, name string, d report.Document) (url string, size int) {
	t.Helper()
	require.NoError(t, os.MkdirAll(artefacts, 0o755))
	var b strings.Builder
	require.NoError(t, report.HTML(&b, d))
	file, err := filepath.Abs(filepath.Join(artefacts, name+".html"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, []byte(b.String()), 0o644))
	return "file://" + file, b.Len()
}

func documents(t *testing.T) map[string]report.Document {
	c := sweep(t)
	return map[string]report.Document{
		"sweep":   {Title: "A sweep of twelve steps", Curve: c, Limit: &report.Limit{State: "found", Rate: 62.5, Lo: 61.2, Hi: 63.9, Confidence: 0.95, Recommended: 50, Headroom: 0.2}},
		"one":     one("A single run", queueReport(64, chat)),
		"three":   {Title: "Three engines", Runs: []report.Run{{Name: "engine A", Report: queueReport(40, chat)}, {Name: "engine B", Report: queueReport(64, chat)}, {Name: "engine C", Report: queueReport(80, chat)}}},
		"hostile": hostile(),
		"nothing": one("", nothing()),
	}
}

// canvases counts, for each chart, the pixels that are not transparent and the different colours that they have.
const canvases = `[...document.querySelectorAll("[data-chart]")].map(place => {
	const c = place.querySelector("canvas"), d = c.getContext("2d").getImageData(0, 0, c.width, c.height).data;
	let n = 0; const colours = new Set();
	for (let i = 0; i < d.length; i += 4) if (d[i+3] > 0) { n++; colours.add(d[i] << 16 | d[i+1] << 8 | d[i+2]) }
	return {drawn: place.dataset.drawn || "", pixels: n, colours: colours.size};
})`

// contrasts are the texts that stand out less than 4.5 to 1 from what is behind them (WCAG 2.2, 1.4.3), and the colours of charts
// that do less than 3 to 1 (1.4.11).
const contrasts = `(() => {
	const rgb = s => s.startsWith("#") ? [1,3,5].map(i => parseInt(s.slice(i, i+2), 16)) : s.match(/[\d.]+/g).map(Number);
	const light = c => { const [r, g, b] = c.map(v => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); return 0.2126*r + 0.7152*g + 0.0722*b };
	const ratio = (a, b) => { const [x, y] = [light(a.slice(0, 3)), light(b.slice(0, 3))].sort((p, q) => q - p); return (x + 0.05) / (y + 0.05) };
	const behind = e => { for (; e; e = e.parentElement) { const c = rgb(getComputedStyle(e).backgroundColor); if (c.length < 4 || c[3] === 1) return c } return [255, 255, 255] };
	const bad = [];
	let texts = 0;
	for (const e of document.querySelectorAll("body *")) {
		if (e.closest("script, .u-over, .u-under, noscript") || ![...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim())) continue;
		texts++;
		const r = ratio(rgb(getComputedStyle(e).color), behind(e));
		if (r < 4.5) bad.push(r.toFixed(2) + " " + e.tagName + " " + e.className + " " + e.textContent.trim().slice(0, 30));
	}
	const value = n => rgb(getComputedStyle(document.documentElement).getPropertyValue("--" + n).trim());
	for (const n of ["text", "muted"]) if (ratio(value(n), value("surface")) < 4.5) bad.push("axis " + n);
	for (const n of ["good", "throughput", "offered", "slo", "ramp-a", "ramp-b", "ramp-c", "c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7"])
		if (ratio(value(n), value("surface")) < 3) bad.push(n + " " + ratio(value(n), value("surface")).toFixed(2));
	return {bad, texts};
})()`

type canvas struct {
	Drawn           string
	Pixels, Colours int
}

func requireDrawn(t *testing.T, p *browser.Page) {
	t.Helper()
	var all []canvas
	p.Eval(canvases, &all)
	require.NotEmpty(t, all)
	for i, c := range all {
		assert.Equal(t, "yes", c.Drawn, "chart %d", i)
		assert.Greater(t, c.Pixels, 1000, "chart %d", i)
		assert.Greater(t, c.Colours, 3, "chart %d", i)
	}
}

func requireContrast(t *testing.T, p *browser.Page) {
	t.Helper()
	var seen struct {
		Bad   []string
		Texts int
	}
	p.Eval(contrasts, &seen)
	assert.Empty(t, seen.Bad)
	assert.Greater(t, seen.Texts, 40)
}

// requireNoOverflow requires that nothing reaches out of the page to the right. What window.innerWidth says is no measure of that: on a
// phone it grows with what is in the page.
func requireNoOverflow(t *testing.T, p *browser.Page, width int) {
	t.Helper()
	var wide []string
	p.Eval(`(width => {
		const wide = [...document.querySelectorAll("body *")].filter(e => !e.closest(".scroll table, .skip, .unseen, .plot") && e.getBoundingClientRect().right > width + 0.5)
			.map(e => e.tagName + "." + e.className + " " + e.getBoundingClientRect().right);
		if (document.documentElement.scrollWidth > width) wide.push("scrollWidth " + document.documentElement.scrollWidth);
		return wide;
	})(`+strconv.Itoa(width)+`)`, &wide)
	assert.Empty(t, wide)
}

func TestPages(t *testing.T) {
	b := browser.Start(t)
	for name, d := range documents(t) {
		t.Run(name, func(t *testing.T) {
			url, size := save(t, name, d)
			shot := func(how string) string { return filepath.Join(artefacts, name+"-"+how+".png") }
			p := b.Page(1280, 900)
			p.Open(url)
			p.Settle()
			charts := name != "nothing" && name != "hostile"
			if charts {
				requireDrawn(t, p)
			}
			requireContrast(t, p)
			requireNoOverflow(t, p, 1280)
			p.Screenshot(shot("light"))

			p.Dark(true)
			p.Settle()
			if charts {
				requireDrawn(t, p)
			}
			requireContrast(t, p)
			p.Screenshot(shot("dark"))

			p.Dark(false)
			p.Size(390, 844)
			p.Settle()
			p.Settle()
			requireNoOverflow(t, p, 390)
			p.Screenshot(shot("phone"))
			p.Eval(`document.querySelectorAll("details").forEach(d => d.open = true)`, nil)
			p.Settle()
			requireNoOverflow(t, p, 390)
			requireContrast(t, p)
			p.PDF(filepath.Join(artefacts, name+".pdf"))
			assert.Empty(t, p.Complaints())
			t.Logf("%d bytes", size)
		})
	}
}

// A page of a sweep of twelve steps is below 500 kB and takes less than a second of a processor until it is drawn. When that is over
// depends on what else the machine does.
func TestSweepIsSmallAndFast(t *testing.T) {
	url, size := save(t, "sweep", documents(t)["sweep"])
	require.Less(t, size, 500_000)
	p := browser.Start(t).Page(1280, 900)
	p.Open(url)
	var drawn string
	p.Eval("document.documentElement.dataset.drawn", &drawn)
	busy := p.Busy()
	t.Logf("%d bytes, drawn %s ms after the page was asked for, for which a processor was busy for %v", size, drawn, busy)
	require.Less(t, busy, time.Second)
	require.Positive(t, busy)
}

// Every chart can be reached with the Tab key, and the arrow keys walk its values, which are shown and said.
func TestKeyboard(t *testing.T) {
	p := browser.Start(t).Page(1280, 900)
	d := one("A single run", queueReport(64, chat))
	url, _ := save(t, "keyboard", d)
	p.Open(url)
	p.Settle()
	var charts int
	p.Eval(`document.querySelectorAll("[data-chart]").length`, &charts)
	require.Greater(t, charts, 4)
	reached := map[string]bool{}
	for range 200 {
		p.Key("Tab")
		var at string
		p.Eval(`document.activeElement.dataset.chart ?? ""`, &at)
		if at == "" || reached[at] {
			continue
		}
		reached[at] = true
		said := map[string]bool{}
		for _, key := range []string{"Home", "ArrowRight", "End"} {
			p.Key(key)
			var live string
			p.Eval(`document.getElementById("live").textContent`, &live)
			said[live] = true
		}
		var legend, rows int
		p.Eval(`[...document.activeElement.querySelectorAll(".u-value")].filter(e => /\d/.test(e.textContent)).length`, &legend)
		p.Eval(`document.activeElement.plot.data[0].length`, &rows)
		if rows > 2 {
			assert.Len(t, said, 3, "chart %s", at)
		}
		if at != "0" { // the last slice of a time line is the end of the one before
			assert.Positive(t, legend, "chart %s", at)
		}
		p.Key("Escape")
	}
	assert.Len(t, reached, charts)
	require.Empty(t, p.Complaints())
}

// A screen reader has a name for every chart and a table beneath it, and a name for each part of the page.
func TestScreenReader(t *testing.T) {
	p := browser.Start(t).Page(1280, 900)
	url, _ := save(t, "reader", documents(t)["three"])
	p.Open(url)
	var bad []string
	p.Eval(`(() => {
		const bad = [];
		for (const c of document.querySelectorAll("[data-chart]")) {
			if (c.getAttribute("role") !== "img" || c.getAttribute("aria-label").length < 40) bad.push("chart " + c.dataset.chart);
			if (!c.closest("figure").querySelector("details table tbody tr td")) bad.push("no table: chart " + c.dataset.chart);
		}
		for (const s of document.querySelectorAll("section")) if (!document.getElementById(s.getAttribute("aria-labelledby"))) bad.push("section " + s.id);
		for (const a of document.querySelectorAll("a[href^='#']")) if (!document.querySelector(a.getAttribute("href"))) bad.push("link " + a.href);
		for (const t of document.querySelectorAll(".scroll table")) for (const h of t.querySelectorAll("th")) if (!h.scope) bad.push("th " + h.textContent);
		if (document.querySelectorAll("h1").length !== 1 || document.documentElement.lang !== "en") bad.push("h1, lang");
		const ids = [...document.querySelectorAll("[id]")].map(e => e.id);
		if (new Set(ids).size !== ids.length) bad.push("ids");
		return bad;
	})()`, &bad)
	assert.Empty(t, bad)
}

// A page is printed dark on white, also where its reader prefers the dark scheme.
func TestPrint(t *testing.T) {
	p := browser.Start(t).Page(1280, 900)
	url, _ := save(t, "print", one("A single run", queueReport(64, chat)))
	p.Dark(true)
	p.Open(url)
	surface := func() (s string) {
		p.Eval(`getComputedStyle(document.documentElement).getPropertyValue("--surface").trim()`, &s)
		return s
	}
	require.Equal(t, "#171b21", surface())
	p.Eval(`window.dispatchEvent(new Event("beforeprint"))`, nil)
	assert.Equal(t, "#ffffff", surface())
	p.Settle()
	requireDrawn(t, p)
	var widest float64
	p.Eval(`Math.max(...[...document.querySelectorAll("canvas")].map(c => c.getBoundingClientRect().width))`, &widest)
	assert.LessOrEqual(t, widest, 660.0)
	p.Eval(`window.dispatchEvent(new Event("afterprint"))`, nil)
	assert.Equal(t, "#171b21", surface())
	assert.Empty(t, p.Complaints())
}

// What stands in names, errors and sections is text, whatever it says, and no browser runs it.
func TestHostileTexts(t *testing.T) {
	p := browser.Start(t).Page(1280, 900)
	url, _ := save(t, "hostile-text", hostile())
	p.Open(url)
	p.Settle()
	var alien int
	p.Eval(`document.querySelectorAll("img, iframe, object, link, body style, a:not([href^='#']), [onerror], [style*=expression]").length`, &alien)
	assert.Zero(t, alien)
	var scripts int
	p.Eval(`document.scripts.length`, &scripts)
	assert.Equal(t, 2, scripts)
	var ran bool
	p.Eval(`"pwned" in window`, &ran)
	assert.False(t, ran)
	var shown bool
	p.Eval(`document.body.innerText.includes('</script><script>pwned=1</script>')`, &shown)
	assert.True(t, shown, "it is shown as it is")
	assert.Empty(t, p.Complaints())

	// The policy itself holds: a script that gets into the page some other way is refused.
	p.Eval(`document.body.append(Object.assign(document.createElement("script"), {textContent: "window.pwned = 1"}))`, nil)
	p.Eval(`"pwned" in window`, &ran)
	assert.False(t, ran)
	assert.NotEmpty(t, p.Complaints())
}
