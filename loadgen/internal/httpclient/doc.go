// Package httpclient is what targets that speak HTTP share: a transport that is made for load, the one repetition that
// there is, where a request's time went, the reading of a body with the instants at which it came, by the kernel's account
// where there is one, and what of a failure can be recorded without a secret in it.
package httpclient
