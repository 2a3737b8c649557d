// Package llmsim simulates an LLM inference engine with continuous batching.
package llmsim
