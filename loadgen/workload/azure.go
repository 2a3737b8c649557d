package workload

// Shape is how long prompts and answers are. Input and output lengths are drawn independently.
type Shape struct {
	Name   string  // for people
	Input  Lengths // tokens of the prompt
	Output Lengths // tokens of the answer, which become the request's limit; nil: no limit
}

// String is the name and the two laws.
func (s Shape) String() string {
	out := "input " + lawString(s.Input) + "; output " + lawString(s.Output)
	if s.Name == "" {
		return out
	}
	return s.Name + ": " + out
}

func lawString(l Lengths) string {
	if l == nil {
		return "not limited"
	}
	return l.String()
}

// AzureConversation is the lengths of a conversation service of Azure in November 2023: percentiles of the trace
// AzureLLMInferenceTrace_conv (19,366 requests), published by Microsoft under CC-BY 4.0 with Patel et al., "Splitwise:
// Efficient Generative LLM Inference Using Phase Splitting", ISCA 2024
// (https://github.com/Azure/AzurePublicDataset). The trace's mean input is 1,154.7 tokens and its mean output 211.1;
// this law's are 1,142 and 208. The trace's correlation of input and output is −0.11, the law's 0.
func AzureConversation() Shape {
	return Shape{
		Name: "Azure conversation, November 2023",
		Input: Percentiles{{0, 2}, {1, 29}, {25, 396}, {50, 1020}, {75, 1189}, {90, 2734}, {95, 4083}, {99, 4142},
			{99.9, 6179}, {100, 14050}},
		Output: Percentiles{{0, 7}, {1, 16}, {25, 85}, {50, 129}, {75, 395}, {90, 424}, {95, 451}, {99, 601},
			{99.9, 954}, {100, 1000}},
	}
}

// AzureCode is the lengths of a coding service of Azure in November 2023: percentiles of the trace
// AzureLLMInferenceTrace_code (8,819 requests), from the same source as AzureConversation. The trace's mean input is
// 2,047.8 tokens and its mean output 27.9; this law's are 2,042 and 30.6.
func AzureCode() Shape {
	return Shape{
		Name: "Azure code, November 2023",
		Input: Percentiles{{0, 3}, {1, 17}, {25, 578}, {50, 1469}, {75, 2744}, {90, 5188}, {95, 7303}, {99, 7436},
			{100, 7437}},
		Output: Percentiles{{0, 6}, {1, 6}, {25, 9}, {50, 13}, {75, 24}, {90, 55}, {95, 90}, {99, 252}, {99.9, 825},
			{100, 1899}},
	}
}
