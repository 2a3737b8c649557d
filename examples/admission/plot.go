package main

import (
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
)

// points is a row as a curve with an interval at each load.
type points struct {
	loads []float64
	all   []sample
}

func (p points) Len() int                { return len(p.all) }
func (p points) XY(i int) (x, y float64) { return p.loads[i], p.all[i].mean() }
func (p points) YError(i int) (lo, hi float64) {
	if h := p.all[i].half(); h >= 0 {
		return h, h
	}
	return 0, 0 // of one run there is none
}

// plotted writes the figure: goodput over load, a curve for each policy.
func plotted(o *options, rows []*row) error {
	p := plot.New()
	p.Title.Text = "Goodput over load: " + o.source.name + "\n" + o.slo.String()
	p.X.Label.Text = "load, times the goodput limit without control"
	p.Y.Label.Text = "goodput, requests/s"
	p.Legend.Top, p.Legend.Left, p.Legend.Padding = true, true, vg.Points(2)
	p.Add(plotter.NewGrid())
	for i, r := range rows {
		c := points{o.loads, r.goodput}
		line, marks, err := plotter.NewLinePoints(c)
		if err != nil {
			return err
		}
		line.Color, marks.Color = plotutil.Color(i), plotutil.Color(i)
		marks.Shape = plotutil.Shape(i)
		if i == len(rows)-1 {
			line.Width = vg.Points(2)
		}
		bars, err := plotter.NewYErrorBars(c)
		if err != nil {
			return err
		}
		bars.Color = plotutil.Color(i)
		p.Add(line, marks, bars)
		p.Legend.Add(r.name, line, marks)
	}
	offered := plotter.NewFunction(func(x float64) float64 { return x * o.limit })
	offered.Color, offered.Dashes = color.Gray{Y: 128}, plotutil.Dashes(1)
	p.Add(offered)
	p.Legend.Add("offered", offered)
	p.X.Min, p.X.Max = 0, o.loads[len(o.loads)-1]
	p.Y.Min, p.Y.Max = 0, 1.7*peak(rows[len(rows)-1].goodput) // room for the legend
	return p.Save(18*vg.Centimeter, 12*vg.Centimeter, o.plot)
}
