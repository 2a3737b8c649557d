package percentile_test

import (
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/goodputkit/goodputkit/percentile"
)

func Example() {
	d := percentile.New()
	for range 95 {
		d.Add(0.1) // seconds
	}
	for range 5 {
		d.Add(5)
	}
	fmt.Printf("mean %.3f s, P50 %.1f s, P99 %.1f s\n", d.Mean(), d.Quantile(0.5), d.Quantile(0.99))
	// Output: mean 0.345 s, P50 0.1 s, P99 5.0 s
}

// Percentiles of two machines cannot be averaged. Their digests merge.
func ExampleDigest_Merge() {
	a, b := percentile.New(), percentile.New()
	for i := range 900 {
		a.Add(float64(i))
	}
	for i := range 100 {
		b.Add(float64(900 + i))
	}
	mean := (a.Quantile(0.5) + b.Quantile(0.5)) / 2
	a.Merge(b)
	fmt.Printf("mean of medians %.1f, median %.1f\n", mean, a.Quantile(0.5))
	// Output: mean of medians 699.5, median 499.5
}

// In a gap of the data a percentile is hardly a number.
func ExampleDigest_Interval() {
	d := percentile.New()
	for i := range 1000 {
		if i < 950 {
			d.Add(0.1)
		} else {
			d.Add(5)
		}
	}
	lo, hi := d.Interval(0.95, 0.95)
	fmt.Printf("P95 %.3f s, 95 %% interval [%.1f s, %.1f s]\n", d.Quantile(0.95), lo, hi)
	// Output: P95 0.345 s, 95 % interval [0.1 s, 5.0 s]
}

// The share within a threshold; where requests can be counted against it, do
// that instead.
func ExampleDigest_Rank() {
	d := percentile.New()
	for i := range 100 {
		d.Add(float64(i) / 100)
	}
	fmt.Println(d.Rank(0.79))
	// Output: 0.8
}

// Steps between tokens weigh as many as they stand for.
func ExampleDigest_AddN() {
	d := percentile.New()
	d.AddN(0.020, 90)
	d.AddN(0.200, 10)
	fmt.Println(d.Count(), d.Quantile(0.5), d.Quantile(0.95))
	// Output: 100 0.02 0.2
}

func ExampleDigest_MarshalBinary() {
	d := percentile.New()
	d.AddSlice([]float64{1, 2, 3})
	data, err := d.MarshalBinary()
	if err != nil {
		panic(err)
	}
	var back percentile.Digest
	if err := back.UnmarshalBinary(data); err != nil {
		fmt.Println(err)
	}
	fmt.Println(back.Count(), back.Quantile(0.5))
	fmt.Println(back.UnmarshalBinary(data[:20]))
	// Output:
	// 3 2
	// percentile: not an encoded digest: the checksum is wrong
}

func ExampleDigest_MarshalJSON() {
	d := percentile.New()
	d.AddSlice([]float64{1, 2, 3})
	data, err := json.Marshal(d)
	if err != nil {
		panic(err)
	}
	fmt.Printf("%.60s…\n", data)
	// Output: {"count":3,"sum":6,"min":1,"max":3,"p50":2,"p90":2.8,"p95":2…
}

func ExampleRecorder() {
	r := percentile.NewRecorder()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := range 1000 {
				r.Add(float64(i)) // from any goroutine
			}
		})
	}
	wg.Wait()
	d := r.Snapshot() // at any time
	fmt.Println(d.Count(), d.Max())
	// Output: 8000 999
}

// A goroutine that records much takes a handle.
func ExampleRecorder_Local() {
	r := percentile.NewRecorder()
	l := r.Local()
	defer l.Close()
	for i := range 1000 {
		l.Add(float64(i))
	}
	fmt.Println(r.Snapshot().Count())
	// Output: 1000
}

// The percentiles of the last five minutes, in slots of 15 seconds.
func ExampleWindow() {
	w := percentile.NewWindow(5*time.Minute, 20)
	for i := range 100 {
		w.Add(float64(i))
	}
	fmt.Println(w.Snapshot().Quantile(0.5))
	// Output: 49.5
}
