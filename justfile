# Short names for long commands. A convenience: nothing needs it.

# Everything CI checks.
ci:
    .ci/run

# The tests of the README.
test *words:
    cargo test {{words}}

# The tests that drive the built binary.
binary *words:
    cargo test --test binary {{words}}

# Random cases with the seeds of this commit, in time boxes: `just soak 30` for half an hour.
soak minutes="8":
    .ci/soak {{minutes}}

# Every test in full depth, and every mistake in the source. The numbers are in CONTRIBUTING.md.
full:
    .ci/full

# What clippy and rustfmt have to say.
lint:
    cargo clippy --workspace --all-targets --features regatta/examples -- -D warnings
    cargo fmt --all --check

# The program as it is shipped, and whether it is as small as it must be.
dist:
    .ci/dist

# Measurements of the program as it is shipped, in their long form. CI has the short one, of the release
# build, with the same bounds.
bench:
    REGATTA_BENCH_PROFILE=dist cargo bench

# The archive of a release for this machine, below target/archives.
archive:
    .ci/archive "$(rustc -vV | sed -n 's/^host: //p')" target/archives

# Whether the measurements run at all, in the dev profile: one round of a few tasks.
bench-trial:
    cargo bench --profile dev

# The sample, live.
demo:
    cargo run --quiet -- demo

# Licences and advisories of everything we use (needs cargo-deny).
deny:
    cargo deny check
