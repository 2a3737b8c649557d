package llmsim

import (
	"errors"
	"time"
)

// Why an engine refuses a job.
var (
	ErrNoTokens  = errors.New("llmsim: a job has at least one prompt token and one output token")
	ErrTooLong   = errors.New("llmsim: prompt and output do not fit into the KV cache")
	ErrQueueFull = errors.New("llmsim: the queue is full")
	ErrDeadline  = errors.New("llmsim: a job's deadline is after its submission, or 0")
	ErrComputed  = errors.New("llmsim: of a job's prompt tokens none to all are computed already")
)

// Job is one request for an engine.
//
// A job whose Computed is its whole Prompt is an answer that was begun elsewhere, as the decode side of a disaggregated
// system gets it: Prompt counts all tokens so far, those of the answer too, and Output those still to come. Each of them
// comes of a decode step, the first too. A prompt of n tokens, of whose answer of m tokens the first was made elsewhere,
// is Prompt n+1, Computed n+1, Output m−1.
//
// Blocks are what a prefix cache knows a job by: a hash for each of its first blocks of Params.BlockTokens tokens, of the
// tokens in it and all before them. They may end before the prompt does, or go on into the answer where that is known
// beforehand; nil: nothing is known. Server, Target and Runner make them of the words of texts.
type Job struct {
	ID       uint64        // the caller's, of which one job at a time is in the engine
	Prompt   int           // prompt tokens, at least 1
	Output   int           // output tokens, at least 1
	Computed int           // prompt tokens whose KV cache comes with the job, when it enters the batch, at no cost: 0 to Prompt
	Blocks   []uint64      // its hashes, for the prefix cache
	Deadline time.Duration // when its first token is due, counted from its submission, for a Policy that heeds it; 0: nobody said
	Rank     uint64        // jobs submitted in the same instant are queued by Rank, lower first; those of one Rank as they were submitted
	Data     any           // the caller's own, handed back in each Event
}

// Event is one output token of a job.
type Event struct {
	At   time.Duration // the end of the step that made it
	ID   uint64
	Data any
	Last bool // the job is done
}

// Stats is the state of an engine, and what it has done so far.
type Stats struct {
	Waiting int // jobs in the queue
	Running int // jobs in the batch, with those that enter it with a step that begins now

	// Tokens of KV cache: promised to the running jobs, each one's prompt and whole output, or under Params.Preemption its
	// prompt and the output so far; holding something of theirs; held by the prefix cache alone, whose room is free.
	KVReserved, KVUsed, KVCached int

	Steps        uint64        // steps completed
	Busy         time.Duration // their time
	PromptTokens uint64        // computed here as a prompt; after a preemption the answer so far is a part of it
	OutputTokens uint64        // generated
	Preemptions  uint64        // how often a sequence was thrown out of the batch
	Recomputed   uint64        // of PromptTokens, those that had been computed before and were lost in a preemption
	CacheQueried uint64        // prompt tokens of the jobs that entered the batch of an engine with a prefix cache, at each entry
	CacheHits    uint64        // of these, those that the cache had
}
