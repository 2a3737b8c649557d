// Package httpclient is what targets that speak HTTP share: a transport that is made for load, the one repetition that
// there is, where a request's time went, the reading of a body with the instants at which it came, by the kernel's account
// where there is one, and what of a failure can be recorded without a secret in it.
//
// One thing cannot be kept in: where bytes come on a connection that is idle, package net/http writes a line to package log,
// with the first of them. A connection of one's own that hides such bytes would not do, for those that follow an answer in
// the same segment are in net/http's buffer before it knows where the answer ends.
package httpclient
