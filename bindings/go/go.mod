module github.com/rooflut/rooflut/bindings/go

go 1.25
