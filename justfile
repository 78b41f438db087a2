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

# Both fuzzers, with seeds of the moment: `just fuzz 3000` for so many rounds of each.
fuzz rounds="1000":
    REGATTA_SEED=$(date +%s) REGATTA_ROUNDS={{rounds}} cargo test --test binary fuzz_

# The fuzzers for as long as nobody stops them or something fails.
soak:
    while REGATTA_SEED=$(date +%s) REGATTA_ROUNDS=2000 cargo test --test binary fuzz_; do :; done

# What clippy and rustfmt have to say.
lint:
    cargo clippy --workspace --all-targets -- -D warnings
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
