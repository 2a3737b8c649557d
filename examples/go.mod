module github.com/goodputkit/goodputkit/examples

go 1.26.0

require github.com/goodputkit/goodputkit v0.0.0

replace github.com/goodputkit/goodputkit => ../
