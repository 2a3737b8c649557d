// Package slo says what good means.
package slo
