// Package goodputtest has assertions about goodput reports, for the tests of a service's SLO logic, and builders of records
// that need no service.
//
//	r := result.Report // of a run, or of an Accumulator that a middleware fed
//	goodputtest.Meets(t, r, "ttft p95 < 2s, error_rate < 1%")
//	goodputtest.GoodputAtLeast(t, r, 19.5)
//	goodputtest.BooksClose(t, r)
//
// An assertion fails the test with a message, like those of testify's assert, and returns whether it held:
//
//	ttft p95 < 2s does not hold: 90.0% of 20 requests are in time, 95% have to be: 1 more
//	  interval  67.5% to 97.5% (95% confidence), verdict inconclusive; worth 18 independent requests
//	  the rest  1 late, 1 failed: 1 timeout
//	  ttft      P50 200 ms, P95 480 ms, at most 3.00 s, of 19 successes
//	  worst     2026-01-01T00:00:09Z success, ttft 3.00 s, e2e 3.00 s, 1 token
//	            2026-01-01T00:00:19Z timeout, e2e 30.0 s
//
// # Sample and system
//
// [Meets] is about the sample: enough of its requests were in time, counted exactly. Where each run of a test is the same, as in a
// testing/synctest bubble with a seed, that is all there is to know. [MeetsSurely] is about the system: it asks for the
// verdict, which allows for the size of the sample and for neighbours that are alike, and so for a sample that is large enough.
//
// Both ask of the report what it has counted. A threshold that it did not count cannot be had from it afterwards, and is no
// pass: the assertion fails and says so. Neither is a sample of nobody, and that holds of [BooksClose] and [GoodputAtLeast] too.
package goodputtest
